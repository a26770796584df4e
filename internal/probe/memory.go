package probe

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Memory reads /proc/buddyinfo (proc_buddyinfo(5)): the free blocks of 2^N pages
// that each zone of memory has, as levels named node0.Normal.order3, and an index
// of fragmentation, node0.Normal.unusable3, in percent: how much of the zone's
// free memory lies in blocks too small for an allocation of 2^3 pages. That is
// the unusable free space index of the kernel's mm/vmstat.c (unusable_free_index);
// a zone without any free page has 100. Given are order 3, which is what sockets
// and drivers ask for by default (SKB_FRAG_PAGE_ORDER: 32 KiB of pages of 4 KiB),
// and order 9, a huge page of x86.
//
// Pages on the CPUs' own lists are in none of these figures.
type Memory struct{}

// Name returns "memory".
func (Memory) Name() string { return "memory" }

// Read reads the table.
func (m Memory) Read() (Reading, error) { return readKind(m) }

const buddyinfoPath = "/proc/buddyinfo"

func (Memory) sources() []source { return []source{{glob: buddyinfoPath}} }

func (Memory) parse(t texts) ([]Counter, error) {
	in, err := t.need(buddyinfoPath)
	if err != nil {
		return nil, err
	}
	return parseBuddyinfo(in)
}

// parseBuddyinfo reads lines as
//
//	Node 0, zone   Normal      2    708    518 ...
func parseBuddyinfo(in io.Reader) ([]Counter, error) {
	var counters []Counter
	scan := bufio.NewScanner(in)
	for line := 1; scan.Scan(); line++ {
		fields := strings.Fields(scan.Text())
		if len(fields) < 5 || fields[0] != "Node" || fields[2] != "zone" {
			return nil, fmt.Errorf("line %d: have %q, need a node, a zone and its free blocks", line, scan.Text())
		}
		zone := "node" + strings.TrimSuffix(fields[1], ",") + "." + fields[3]
		blocks := make([]uint64, len(fields)-4)
		for order := range blocks {
			v, err := strconv.ParseUint(fields[4+order], 10, 48)
			if err != nil {
				return nil, fmt.Errorf("line %d order %d: %w", line, order, err)
			}
			blocks[order] = v
			counters = append(counters, Counter{Where: "memory", Name: fmt.Sprintf("%s.order%d", zone, order), Value: v, Level: true})
		}
		for _, order := range [...]int{3, 9} {
			if order < len(blocks) {
				c := Counter{Where: "memory", Name: fmt.Sprintf("%s.unusable%d", zone, order), Level: true}
				c.set(unusable(blocks, order))
				counters = append(counters, c)
			}
		}
	}
	return counters, scan.Err()
}

// unusable is the percentage of free pages in blocks smaller than 2^order.
func unusable(blocks []uint64, order int) float64 {
	var free, small float64
	for o, n := range blocks {
		pages := float64(n) * float64(uint64(1)<<o)
		free += pages
		if o < order {
			small += pages
		}
	}
	if free == 0 {
		return 100
	}
	return 100 * small / free
}
