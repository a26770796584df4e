// Package pcaps reads, reframes, writes and converts captures at rest: pcap files
// of versions 2.0 to 2.4 with microseconds or nanoseconds and pcapng files, in
// either byte order, plain or packed with gzip or zstd.
//
//	file ──► gzip, zstd ──► window ──► decoder ──► Record ──► Reframer ──► Writer
//	         if packed      512 KiB    in place               if not
//	                          │                               Ethernet
//	                          └► *Error: file, record, byte
//
// No length in a file is believed before it is checked against what there is: a
// record or block that lies is an *Error and ends the reading, for what follows
// cannot be found. What is merely wrong in a record that can be found is passed
// on and marked:
//
//	time that is none, or does not fit   Record.Clock
//	captured > length                    Data ends at the length; Reader.Excess
//	captured < length                    Record.Cut
//	frames with FCS, as the file says    it is taken off Data and Len
//	no Ethernet header                   Record.LinkType; see Reframer
//
// In errors of a packed capture the byte is one of what is in it.
//
// A Reader, Reframer or Writer belongs to one goroutine; a Reader and a Writer
// are closed by whoever opened them. Record.Data is valid until the next call of
// Next, a reframed frame until the next call of Frame or Next.
package pcaps
