package probe

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func u32s(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

func u64s(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

func attr(kind int, value []byte) []byte { return nl.NewRtAttr(kind, value).Serialize() }

func join(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func TestParseLink(t *testing.T) {
	full := make([]uint64, len(linkStats)+1) // one more, as a newer kernel would send
	for i := range full {
		full[i] = uint64(i) + 1<<40
	}
	tests := []struct {
		name  string
		attrs []byte
		count int
		want  []Counter
	}{
		{"newer kernel", attr(unix.IFLA_STATS64, u64s(full...)), len(linkStats), []Counter{
			{Where: "eth1", Name: "rx_packets", Value: 1 << 40, Bits: 64},
			{Where: "eth1", Name: "tx_dropped", Value: 1<<40 + 7, Bits: 64},
			{Where: "eth1", Name: "rx_missed_errors", Value: 1<<40 + 15, Bits: 64},
			{Where: "eth1", Name: "rx_otherhost_dropped", Value: 1<<40 + 24, Bits: 64},
		}},
		{"older kernel", attr(unix.IFLA_STATS64, u64s(1, 2, 3)), 3, []Counter{{Where: "eth1", Name: "rx_bytes", Value: 3, Bits: 64}}},
		{"state", join(attr(unix.IFLA_OPERSTATE, []byte{6}), attr(unix.IFLA_CARRIER, []byte{1}), attr(unix.IFLA_CARRIER_CHANGES, u32s(3))), 3, []Counter{
			{Where: "eth1", Name: "carrier", Value: 1, Level: true},
			{Where: "eth1", Name: "operstate", Value: 6, Level: true},
			{Where: "eth1", Name: "carrier_changes", Value: 3, Bits: 32},
		}},
		{"nothing of ours", attr(unix.IFLA_MTU, u32s(1500)), 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseLink("eth1", tt.attrs)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tt.count {
				t.Errorf("have %d counters, want %d", len(got), tt.count)
			}
			if diff := cmp.Diff(tt.want, some(got, tt.want)); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := parseLink("eth1", attr(unix.IFLA_CARRIER, []byte{1, 2})); err == nil {
		t.Error("carrier of two bytes: no error")
	}
}

func qdiscMsg(parent, handle uint32, kind string, stats ...[]byte) []byte {
	tcm := nl.TcMsg{Ifindex: 2, Parent: parent, Handle: handle}
	return join(tcm.Serialize(), attr(nl.TCA_KIND, nl.ZeroTerminated(kind)),
		attr(nl.TCA_STATS, make([]byte, 36)), attr(nl.TCA_STATS2, join(stats...)))
}

func TestParseQdisc(t *testing.T) {
	basic := attr(nl.TCA_STATS_BASIC, join(u64s(1<<33), u32s(7, 0)))
	queue := attr(nl.TCA_STATS_QUEUE, u32s(1, 2, 3, 4, 5))
	pkt64 := attr(statsPkt64, u64s(1<<32+7))
	counters := func(prefix string, packets uint64) []Counter {
		return []Counter{
			{Where: "eth1", Name: prefix + "packets", Value: packets, Bits: 64},
			{Where: "eth1", Name: prefix + "bytes", Value: 1 << 33, Bits: 64},
			{Where: "eth1", Name: prefix + "qlen", Value: 1, Level: true},
			{Where: "eth1", Name: prefix + "backlog", Value: 2, Level: true},
			{Where: "eth1", Name: prefix + "drops", Value: 3, Bits: 32},
			{Where: "eth1", Name: prefix + "requeues", Value: 4, Bits: 32},
			{Where: "eth1", Name: prefix + "overlimits", Value: 5, Bits: 32},
		}
	}
	tests := []struct {
		name string
		msg  []byte
		want []Counter
	}{
		{"root", qdiscMsg(netlink.HANDLE_ROOT, 0x10000, "tbf", basic, queue), counters("qdisc.", 7)},
		{"child", qdiscMsg(0x10001, 0x100000, "bfifo", basic, queue), counters("qdisc[bfifo 10:].", 7)},
		{"no statistics", qdiscMsg(netlink.HANDLE_ROOT, 0, "odd"), nil},
		{"on the way in", qdiscMsg(netlink.HANDLE_INGRESS, 0xffff0000, "ingress", basic, queue), counters("qdisc[ingress ffff:].", 7)},
		{"over 2^32 packets", qdiscMsg(netlink.HANDLE_ROOT, 0, "mq", basic, pkt64, queue), counters("qdisc.", 1<<32+7)},
		{"over 2^32 packets, other order", qdiscMsg(netlink.HANDLE_ROOT, 0, "mq", pkt64, basic, queue), counters("qdisc.", 1<<32+7)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseQdisc("eth1", tt.msg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
		})
	}
}
