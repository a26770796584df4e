package pcaps

import "fmt"

// encoder makes the bytes of a capture file, little endian.
type encoder struct {
	format Format
	begun  bool
	link   LinkType       // of a pcap file: of its first frame
	ids    map[origin]int // interfaces of a pcapng file so far
	head   []byte         // scratch
}

// origin is what has an interface of its own in a pcapng file.
type origin struct {
	iface int
	link  LinkType
}

func (e *encoder) snap() int {
	if e.format.SnapLen > 0 {
		return min(e.format.SnapLen, MaxFrame)
	}
	return MaxFrame
}

// begin returns what a file begins with, once.
func (e *encoder) begin(link LinkType) []byte {
	b := e.head[:0]
	switch e.begun, e.link = true, link; e.format.Container {
	case Pcapng:
		b = le.AppendUint32(b, ngSection)
		b = le.AppendUint32(b, 28)
		b = le.AppendUint32(b, 0x1a2b3c4d)
		b = le.AppendUint16(b, 1)
		b = le.AppendUint16(b, 0)
		b = le.AppendUint64(b, 1<<64-1) // section length not known
		b = le.AppendUint32(b, 28)
	default:
		magic := uint32(pcapNanos)
		if e.format.Container == PcapMicros {
			magic = pcapMicros
		}
		b = le.AppendUint32(b, magic)
		b = le.AppendUint16(b, 2)
		b = le.AppendUint16(b, 4)
		b = le.AppendUint64(b, 0)
		b = le.AppendUint32(b, uint32(e.snap()))
		b = le.AppendUint32(b, uint32(link))
	}
	e.head = b
	return b
}

// describe appends an interface description block with times in ns.
func (e *encoder) describe(b []byte, link LinkType) []byte {
	b = le.AppendUint32(b, ngInterface)
	b = le.AppendUint32(b, 32)
	b = le.AppendUint16(b, uint16(link))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, uint32(e.snap()))
	b = append(b, 9, 0, 1, 0, 9, 0, 0, 0) // if_tsresol 10^-9
	b = append(b, 0, 0, 0, 0)             // end of options
	return le.AppendUint32(b, 32)
}

// record returns what stands in front of and behind the frame of a record that
// is sound.
func (e *encoder) record(r Record) (head, tail []byte, err error) {
	b := e.head[:0]
	if e.format.Container == Pcapng {
		from := origin{r.Interface, r.LinkType}
		id, ok := e.ids[from]
		if !ok {
			if id = len(e.ids); id == maxInterfaces {
				return nil, nil, fmt.Errorf("frames of more than %d interfaces", maxInterfaces)
			}
			if e.ids == nil {
				e.ids = make(map[origin]int)
			}
			e.ids[from] = id
			b = e.describe(b, r.LinkType)
		}
		pad := -len(r.Data) & 3
		total := uint32(32 + len(r.Data) + pad)
		b = le.AppendUint32(b, ngEnhanced)
		b = le.AppendUint32(b, total)
		b = le.AppendUint32(b, uint32(id))
		b = le.AppendUint32(b, uint32(uint64(r.Time)>>32))
		b = le.AppendUint32(b, uint32(r.Time))
		b = le.AppendUint32(b, uint32(len(r.Data)))
		b = le.AppendUint32(b, uint32(r.Len))
		n := len(b)
		b = append(b, 0, 0, 0)[:n+pad]
		b = le.AppendUint32(b, total)
		e.head = b
		return b[:n], b[n:], nil
	}
	if r.LinkType != e.link {
		return nil, nil, fmt.Errorf("%v behind frames of %v: a pcap file has one link type; write pcapng, or Ethernet", r.LinkType, e.link)
	}
	fraction := r.Time % 1e9
	if e.format.Container == PcapMicros {
		fraction /= 1e3
	}
	b = le.AppendUint32(b, uint32(r.Time/1e9))
	b = le.AppendUint32(b, uint32(fraction))
	b = le.AppendUint32(b, uint32(len(r.Data)))
	b = le.AppendUint32(b, uint32(r.Len))
	e.head = b
	return b, nil, nil
}
