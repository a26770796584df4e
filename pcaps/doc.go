// Package pcaps reads and writes captures at rest: pcap files with microsecond
// or nanosecond time stamps in either byte order, and pcapng files.
//
// google/gopacket/pcapgo decodes the records. It trusts the lengths that it
// finds, takes a file cut in the middle of a pcapng block for one that ended,
// and keeps 8 bits of a link type, so every record passes a cutter first, which
// knows where it stands in the file and lets only sound ones through:
//
//	file ──► cutter: one record or block at a time ──► pcapgo ──► Record
//	              │ lengths, fractions, link types
//	              └► *Error: file, record, byte
//
// What is refused, each in words of its own: compressed files, pcap versions
// other than 2.4, frames that carry their FCS, fractions of a second that are
// none, time stamps in binary fractions, before 1970 or after 2262, and pcapng
// simple packet blocks, which have no time.
//
// A Reader or Writer belongs to one goroutine and is closed by whoever opened
// it. A Record's data is the caller's.
package pcaps
