package topofile

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/compare/workload/lines"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
)

// A FatTree is a .topo file of the htsim family.
type FatTree struct {
	Nodes   int
	Tiers   int
	PodSize int     // hosts in one pod; 2 tiers: all
	Tier    [3]Tier // ToR, aggregation (2 tiers: spine), core
	file    string
}

// A Tier describes the switches of one tier and the links down from them.
type Tier struct {
	RateBps        int64 // of the links down
	RadixDown      int   // ports down
	RadixUp        int   // ports up; 0 in the top tier
	Oversubscribed float64
	Bundle         int // parallel links down to the same switch
	LinkDelay      instant.Time
	SwitchDelay    instant.Time
	// QueueUp and QueueDown are read and not used: the tools overwrite them, and classes have the
	// queues here. Bytes.
	QueueUp, QueueDown int64
	line               int
	given              map[string]bool
}

// ReadHtsim reads a .topo file; file names it in errors.
//
//	Nodes 128
//	Tiers 3
//	Podsize 16
//	Tier 0
//	Downlink_speed_Gbps 100
//	Radix_Down 4
//	Radix_Up 4
//	...
func ReadHtsim(from io.Reader, file string) (*FatTree, error) {
	t := &FatTree{file: file}
	r := lines.New(from, file)
	header := map[string]int{"nodes": 0, "tiers": 0, "podsize": 0}
	tier := -1
	for r.Next() {
		if len(r.Fields) != 2 {
			return nil, r.Errorf("%d words; expected a key and a value", len(r.Fields))
		}
		key := strings.ToLower(r.Fields[0])
		var err error
		switch _, isHeader := header[key]; {
		case isHeader && tier < 0:
			err = t.headerLine(r, key, header)
		case key == "tier":
			tier, err = t.tierLine(r)
		case tier < 0:
			err = r.Errorf("unknown key %s; expected Nodes, Tiers, Podsize and then Tier 0", lines.Quote(r.Fields[0]))
		default:
			err = t.Tier[tier].read(r, key)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return t, t.check(header)
}

func (t *FatTree) headerLine(r *lines.Reader, key string, header map[string]int) error {
	if header[key] != 0 {
		return r.Errorf("%s is given twice", r.Fields[0])
	}
	low, high := int64(1), int64(1<<20)
	if key == "tiers" {
		low, high = 2, 3
	}
	n, err := r.Whole(r.Fields[1], r.Fields[0], low, high)
	header[key] = int(n)
	t.Nodes, t.Tiers, t.PodSize = header["nodes"], header["tiers"], header["podsize"]
	return err
}

// tierLine starts the block of a tier.
func (t *FatTree) tierLine(r *lines.Reader) (int, error) {
	n, err := r.Whole(r.Fields[1], "Tier", 0, 2)
	if err != nil {
		return 0, err
	}
	if t.Tier[n].given != nil {
		return 0, r.Errorf("Tier %d is given twice", n)
	}
	t.Tier[n] = Tier{Bundle: 1, line: r.Line, given: map[string]bool{}}
	return int(n), nil
}

// read takes one line of a tier's block.
func (t *Tier) read(r *lines.Reader, key string) error {
	if t.given[key] {
		return r.Errorf("%s is given twice", r.Fields[0])
	}
	t.given[key] = true
	whole := func(low, high int64) (n int64, err error) { return r.Whole(r.Fields[1], r.Fields[0], low, high) }
	var n int64
	var err error
	switch key {
	case "downlink_speed_gbps":
		n, err = whole(1, 1_000_000)
		t.RateBps = n * 1e9
	case "radix_down":
		n, err = whole(1, 1<<20)
		t.RadixDown = int(n)
	case "radix_up":
		n, err = whole(1, 1<<16)
		t.RadixUp = int(n)
	case "oversubscribed":
		t.Oversubscribed, err = r.Decimal(r.Fields[1], r.Fields[0], 0.001, 1024)
	case "bundle":
		n, err = whole(1, 1024)
		t.Bundle = int(n)
	case "downlink_latency_ns":
		n, err = whole(0, 1e9)
		t.LinkDelay = instant.Time(n) * instant.Nanosecond
	case "switch_latency_ns":
		n, err = whole(0, 1e9)
		t.SwitchDelay = instant.Time(n) * instant.Nanosecond
	case "queue_up":
		t.QueueUp, err = whole(0, 1<<40)
	case "queue_down":
		t.QueueDown, err = whole(0, 1<<40)
	default:
		err = r.Errorf("unknown key %s; expected Downlink_speed_Gbps, Radix_Down, Radix_Up, Oversubscribed, Downlink_Latency_ns, Switch_Latency_ns, Bundle, Queue_Up or Queue_Down", lines.Quote(r.Fields[0]))
	}
	return err
}

// check compares the counts.
//
//	tier 2   cores          RadixDown = pods x Bundle
//	tier 1   aggregation    RadixDown = ToRs in a pod x Bundle; RadixUp = cores of it x Bundle of tier 2
//	tier 0   ToR            RadixDown = hosts; RadixUp = aggregation switches in a pod x Bundle of tier 1
func (t *FatTree) check(header map[string]int) error {
	for _, key := range []string{"Nodes", "Tiers", "Podsize"} {
		if header[strings.ToLower(key)] == 0 && !(key == "Podsize" && t.Tiers == 2) {
			return fmt.Errorf("%s: the line %s N is missing", t.file, key)
		}
	}
	if t.Tiers == 2 && t.PodSize == 0 {
		t.PodSize = t.Nodes
	}
	if t.Tiers == 2 && t.Tier[2].given != nil {
		return t.errorf(2, "Tier 2 in a tree of 2 tiers")
	}
	for i := range t.Tiers {
		if err := t.checkKeys(i); err != nil {
			return err
		}
	}
	return t.checkCounts()
}

func (t *FatTree) checkKeys(i int) error {
	tier := &t.Tier[i]
	if tier.given == nil {
		return fmt.Errorf("%s: Tier %d is missing", t.file, i)
	}
	for _, key := range []string{"Downlink_speed_Gbps", "Radix_Down", "Radix_Up"} {
		if !tier.given[strings.ToLower(key)] && !(key == "Radix_Up" && i == t.Tiers-1) {
			return t.errorf(i, "Tier %d has no %s", i, key)
		}
	}
	if i == t.Tiers-1 && tier.RadixUp != 0 {
		return t.errorf(i, "Tier %d is the top; expected no Radix_Up", i)
	}
	return nil
}

func (t *FatTree) errorf(tier int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", t.file, t.Tier[tier].line, fmt.Sprintf(format, args...))
}

// counts are the numbers of switches that follow from a file.
type counts struct{ pods, tors, aggs, coresPerAgg int }

func (t *FatTree) counts() counts {
	c := counts{pods: t.Nodes / t.PodSize, tors: t.PodSize / t.Tier[0].RadixDown, aggs: t.Tier[0].RadixUp / t.Tier[1].Bundle}
	if t.Tiers == 3 {
		c.coresPerAgg = t.Tier[1].RadixUp / t.Tier[2].Bundle
	}
	return c
}

func (t *FatTree) checkCounts() error {
	top := t.Tiers - 1
	switch {
	case t.Tiers == 2 && t.PodSize != t.Nodes:
		return fmt.Errorf("%s: Podsize %d of a tree of 2 tiers; expected that of all Nodes, %d", t.file, t.PodSize, t.Nodes)
	case t.Nodes%t.PodSize != 0:
		return fmt.Errorf("%s: %d Nodes do not divide into pods of %d", t.file, t.Nodes, t.PodSize)
	case t.PodSize%t.Tier[0].RadixDown != 0:
		return t.errorf(0, "a pod of %d hosts does not divide into switches of Radix_Down %d", t.PodSize, t.Tier[0].RadixDown)
	}
	for i := range top {
		if up, bundle := t.Tier[i].RadixUp, t.Tier[i+1].Bundle; up%bundle != 0 {
			return t.errorf(i, "Radix_Up %d of Tier %d does not divide into bundles of %d", up, i, bundle)
		}
	}
	c := t.counts()
	if links := float64(t.Nodes) + float64(c.pods)*float64(c.tors)*float64(t.Tier[0].RadixUp) + float64(c.pods)*float64(c.aggs)*float64(t.Tier[1].RadixUp); links > maxLinks/2 {
		return fmt.Errorf("%s: the tree has %.0f cables; expected at most %d", t.file, links, maxLinks/2)
	}
	for i, below := range []int{0, c.tors, c.pods} {
		if want := below * t.Tier[i].Bundle; i > 0 && i <= top && t.Tier[i].RadixDown != want {
			return t.errorf(i, "Radix_Down %d of Tier %d; expected %d: %d switches or pods below times Bundle %d", t.Tier[i].RadixDown, i, want, below, t.Tier[i].Bundle)
		}
	}
	return t.checkOversubscription()
}

// checkOversubscription compares what a tier says with what its ports and speeds amount to.
func (t *FatTree) checkOversubscription() error {
	for i := range t.Tiers - 1 {
		tier, above := &t.Tier[i], &t.Tier[i+1]
		over := float64(tier.RadixDown) * float64(tier.RateBps) / (float64(tier.RadixUp) * float64(above.RateBps))
		if said := tier.Oversubscribed; said != 0 && (over < said*0.999 || over > said*1.001) {
			return t.errorf(i, "Oversubscribed %g of Tier %d; its ports and speeds amount to %s", said, i, strconv.FormatFloat(over, 'g', 6, 64))
		}
	}
	return nil
}

// Network builds the fabric. s holds what a scenario says besides; it may not contradict.
func (t *FatTree) Network(s emulator.Spec) (*emulator.Network, error) {
	err := agree(s, t.Nodes, t.Tier[0].RateBps)
	if err != nil {
		return nil, err
	}
	given := s.SwitchDelay
	s = emulator.Spec{Hosts: t.Nodes, RateBps: t.Tier[0].RateBps, Oversubscription: 1}
	for _, tier := range t.Tier[:t.Tiers] {
		s.TierRateBps = append(s.TierRateBps, tier.RateBps)
		s.TierDelay = append(s.TierDelay, tier.LinkDelay)
	}
	n, err := t.build(s)
	if err != nil {
		return nil, err
	}
	t.setSwitchDelays(n)
	if given != 0 && given != n.SwitchDelay {
		return nil, fmt.Errorf("switchDelay: %v contradicts the file; expected it to be left out", given)
	}
	return n, nil
}

func (t *FatTree) build(s emulator.Spec) (*emulator.Network, error) {
	c := t.counts()
	if t.Tiers == 3 {
		return emulator.Clos{Pods: c.pods, TorsPerPod: c.tors, HostsPerTor: t.Tier[0].RadixDown, AggsPerPod: c.aggs,
			TorBundle: t.Tier[1].Bundle, AggUp: c.coresPerAgg, CoreBundle: t.Tier[2].Bundle}.Build(s)
	}
	topology, _, err := emulator.Topologies.Make("leafspine", map[string]string{
		"leaves": strconv.Itoa(c.tors), "spines": strconv.Itoa(c.aggs), "bundle": strconv.Itoa(t.Tier[1].Bundle)})
	if err != nil {
		return nil, err
	}
	return topology(s)
}

// setSwitchDelays gives the network the switches' delay. Where tiers differ, each link is longer by
// the delay of the switch it leads to, which takes the same time.
func (t *FatTree) setSwitchDelays(n *emulator.Network) {
	equal := true
	for _, tier := range t.Tier[:t.Tiers] {
		equal = equal && tier.SwitchDelay == t.Tier[0].SwitchDelay
	}
	if equal {
		n.SwitchDelay = t.Tier[0].SwitchDelay
		return
	}
	n.SwitchDelay = 0
	for i := range n.Links {
		if l := &n.Links[i]; l.Up {
			l.Delay += t.Tier[l.Tier].SwitchDelay
		} else if l.Tier > 0 {
			l.Delay += t.Tier[l.Tier-1].SwitchDelay
		}
	}
}
