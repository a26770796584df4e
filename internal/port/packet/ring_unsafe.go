package packet

import (
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"squall/internal/port"
	"squall/internal/wire"
)

const (
	// leastRecord is the least a frame takes in a block: tpacket3_hdr (48),
	// sockaddr_ll (20), 14 bytes so that the network header is aligned, and the
	// frame, rounded up to 16 (TPACKET_ALIGNMENT).
	leastRecord = 96
	// frameSize is only checked by the kernel, for TPACKET_V3.
	frameSize = 2048
)

// ring is a TPACKET_V3 receive ring and the block that is read next.
type ring struct {
	mem  []byte
	size int // of a block
	next int // offset of the current block
}

// mapRing makes the socket's ring and maps it.
func mapRing(fd, size, blocks int, retire time.Duration) (ring, error) {
	req := unix.TpacketReq3{
		Block_size:     uint32(size),
		Block_nr:       uint32(blocks),
		Frame_size:     frameSize,
		Frame_nr:       uint32(size / frameSize * blocks),
		Retire_blk_tov: uint32(retire.Milliseconds()),
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return ring{}, fmt.Errorf("ring of %d MiB: %w", size*blocks>>20, os.NewSyscallError("PACKET_RX_RING", err))
	}
	mem, err := unix.Mmap(fd, 0, size*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return ring{}, fmt.Errorf("ring of %d MiB: %w", size*blocks>>20, os.NewSyscallError("mmap", err))
	}
	return ring{mem: mem, size: size}, nil
}

func (r *ring) unmap() error {
	if r.mem == nil {
		return nil
	}
	err := unix.Munmap(r.mem)
	r.mem = nil
	return os.NewSyscallError("munmap", err)
}

// block is the header of the current block: struct tpacket_block_desc of
// include/uapi/linux/if_packet.h.
func (r *ring) block() *unix.TpacketHdrV1 {
	const header = unsafe.Offsetof(unix.TpacketBlockDesc{}.Hdr)
	return (*unix.TpacketHdrV1)(unsafe.Pointer(&r.mem[r.next+int(header)]))
}

// ready reports whether the kernel has given the current block over. The load
// orders all later reads of the block behind it.
func (r *ring) ready() bool {
	return atomic.LoadUint32(&r.block().Block_status)&unix.TP_STATUS_USER != 0
}

// release gives the current block back to the kernel and goes to the next.
func (r *ring) release() {
	atomic.StoreUint32(&r.block().Block_status, unix.TP_STATUS_KERNEL)
	if r.next += r.size; r.next == len(r.mem) {
		r.next = 0
	}
}

// records goes through the frames of the current block.
func (r *ring) records() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		b := r.block()
		at := uintptr(b.Offset_to_first_pkt)
		for range b.Num_pkts {
			rec := (*record)(unsafe.Pointer(&r.mem[uintptr(r.next)+at]))
			if !yield(rec) {
				return
			}
			at += uintptr(rec.Next_offset)
		}
	}
}

// record is a frame in a block.
type record unix.Tpacket3Hdr

// realtime is when the frame arrived, CLOCK_REALTIME in ns.
func (h *record) realtime() int64 { return int64(h.Sec)*1e9 + int64(h.Nsec) }

// frame returns the frame as it was on the wire. A VLAN tag that the driver or
// the stack has taken out is put back: the addresses in front of it are moved
// into the spare bytes before the frame.
func (h *record) frame() port.Frame {
	start, n := int(h.Mac), int(h.Snaplen)
	tagged := h.Status&unix.TP_STATUS_VLAN_VALID != 0 && n >= addresses
	if tagged {
		start -= vlanLen
		n += vlanLen
	}
	data := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), start)), n)
	length := int(h.Len)
	if tagged {
		copy(data, data[vlanLen:vlanLen+addresses])
		tpid := uint16(wire.EtherTypeVLAN)
		if h.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			tpid = h.Hv1.Vlan_tpid
		}
		binary.BigEndian.PutUint16(data[addresses:], tpid)
		binary.BigEndian.PutUint16(data[addresses+2:], uint16(h.Hv1.Vlan_tci))
		length += vlanLen
	}
	return port.Frame{Data: data[:n:n], Len: length}
}

// addresses is the length of the two MAC addresses.
const addresses = 12
