package plan

// What an engine needs that does the work of Stream.Write somewhere else, from
// tables of its own. All of it is fixed when the stream is built.

// SizeSalt is what the seed of the draw of sizes differs by from that of flows.
const SizeSalt = sizeSalt

// Turn returns after how many frames the cycle of sizes is turned by one; 0
// where sizes are drawn at random. The stream's frame j has the size class
// Cycle[(j+j/Turn) mod len(Cycle)].
func (s *Stream) Turn() uint64 { return s.turn }

// Fill writes what depends on the flow and the length alone into frame: head,
// body, padding and length fields. Checksums are as in the head.
func (s *Stream) Fill(frame []byte, flow uint64) { s.fill(frame, flow) }

// IDSums returns which checksums count the identification of TagID: bit k for
// Sums[k].
func (s *Stream) IDSums() uint8 { return s.idSums }

// Covering returns which checksums count the field: bit k for Sums[k].
func (f *Patch) Covering() uint8 { return f.sums }

// BySize returns what frames of a size class add to the sum of the head.
func (c *Sum) BySize(class int) uint16 { return c.bySize[class] }

// Outer returns which other checksums count this one's field: bit k for Sums[k].
func (c *Sum) Outer() uint8 { return c.outer }
