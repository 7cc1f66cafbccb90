package emulator

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Topologies.Register(param.Entry[Topology]{
		Name: "fattree", Doc: "folded Clos of 2 or 3 tiers: ToR, aggregation and core switches in pods",
		Source: "Al-Fares, Loukissas, Vahdat, SIGCOMM 2008; the generated trees of htsim",
		Params: []param.Param{
			{Name: "tiers", Kind: param.Int, Default: "3", Min: 2, Max: 3, Doc: "2: ToR and spine; 3: ToR, aggregation and core"},
			{Name: "radix", Kind: param.Int, Default: "0", Min: 0, Max: 512, Doc: "ports of a switch, even; 0: the smallest with room for all hosts whose switches they fill"},
		},
		New: func(v param.Values) (Topology, error) {
			return func(s Spec) (*Network, error) { return fatTree(s, int(v.Int("tiers")), int(v.Int("radix"))) }, nil
		},
	})
	Topologies.Register(param.Entry[Topology]{
		Name: "leafspine", Doc: "two tiers: every leaf has a cable to every spine",
		Source: "Alizadeh, Edsall, HotI 2013",
		Params: []param.Param{
			{Name: "leaves", Kind: param.Int, Default: "0", Min: 0, Max: 65536, Doc: "number of leaves; 0: the square root of the hosts, rounded so that it divides them"},
			{Name: "spines", Kind: param.Int, Default: "0", Min: 0, Max: 65536, Doc: "number of spines; 0: from oversubscription"},
			{Name: "bundle", Kind: param.Int, Default: "1", Min: 1, Max: 64, Doc: "parallel cables between a leaf and a spine"},
		},
		New: func(v param.Values) (Topology, error) {
			return func(s Spec) (*Network, error) {
				return leafSpine(s, int(v.Int("leaves")), int(v.Int("spines")), int(v.Int("bundle")))
			}, nil
		},
	})
}

// Clos describes a three-tier folded Clos by its counts. Aggregation switch a of every pod has its
// uplinks to the cores a*AggUp and following, each Bundle cables thick.
type Clos struct {
	Pods, TorsPerPod, HostsPerTor int
	AggsPerPod                    int // every ToR has TorBundle cables to each
	TorBundle                     int // 0 counts as 1
	AggUp                         int // cores per aggregation switch
	CoreBundle                    int // cables to each of them; 0 counts as 1
}

// Build makes the network. Hosts that do not fill the last ToRs are left out: s.Hosts may be
// smaller than the counts allow.
func (c Clos) Build(s Spec) (*Network, error) {
	if room := c.Pods * c.TorsPerPod * c.HostsPerTor; s.Hosts > room {
		return nil, fmt.Errorf("%d hosts do not fit: %d pods of %d switches of %d hosts have room for %d", s.Hosts, c.Pods, c.TorsPerPod, c.HostsPerTor, room)
	}
	n := newNetwork(s)
	tors := n.addSwitches(c.Pods*c.TorsPerPod, "tor")
	aggs := n.addSwitches(c.Pods*c.AggsPerPod, "agg")
	cores := n.addSwitches(c.AggsPerPod*c.AggUp, "core")
	for h := range s.Hosts {
		n.cable(Node(h), tors+Node(h/c.HostsPerTor), 0, s, 0)
	}
	for pod := range c.Pods {
		for t := range c.TorsPerPod {
			for a := range c.AggsPerPod {
				for b := range max(c.TorBundle, 1) {
					n.cable(tors+Node(pod*c.TorsPerPod+t), aggs+Node(pod*c.AggsPerPod+a), 1, s, b)
				}
			}
		}
		for a := range c.AggsPerPod {
			for u := range c.AggUp {
				for b := range max(c.CoreBundle, 1) {
					n.cable(aggs+Node(pod*c.AggsPerPod+a), cores+Node(a*c.AggUp+u), 2, s, b)
				}
			}
		}
	}
	return n, nil
}

func fatTree(s Spec, tiers, radix int) (*Network, error) {
	if tiers == 2 {
		return twoTierTree(s, radix)
	}
	if radix == 0 {
		radix = treeRadix(s.Hosts)
	}
	half := radix / 2
	if radix%2 != 0 || radix < 4 || s.Hosts > radix*radix*radix/4 {
		return nil, fmt.Errorf("a 3-tier fat tree of radix %d has room for %d hosts and needs an even radix of 4 or more; %d hosts were asked for", radix, radix*radix*radix/4, s.Hosts)
	}
	if s.Hosts%half != 0 {
		return nil, fmt.Errorf("%d hosts do not fill the switches of a fat tree of radix %d: expected a multiple of %d", s.Hosts, radix, half)
	}
	aggs, err := uplinks(half, s.Oversubscription)
	if err != nil {
		return nil, err
	}
	perPod := half * half
	pods := (s.Hosts + perPod - 1) / perPod
	return Clos{Pods: pods, TorsPerPod: min(half, s.Hosts/half), HostsPerTor: half, AggsPerPod: aggs, AggUp: half}.Build(s)
}

// treeRadix returns the smallest radix whose 3-tier tree has room for all hosts and whose switches they
// fill; the smallest with room if none up to twice that is filled.
func treeRadix(hosts int) int {
	least := 4
	for least*least*least/4 < hosts {
		least += 2
	}
	for radix := least; radix <= 2*least; radix += 2 {
		if hosts%(radix/2) == 0 {
			return radix
		}
	}
	return least
}

func twoTierTree(s Spec, radix int) (*Network, error) {
	if radix == 0 {
		for radix = 2; radix*radix/2 < s.Hosts; radix += 2 {
		}
	}
	half := radix / 2
	if radix%2 != 0 || half == 0 || s.Hosts > radix*half || s.Hosts%half != 0 {
		return nil, fmt.Errorf("%d hosts do not fit a 2-tier fat tree of radix %d: expected a multiple of %d, at most %d", s.Hosts, radix, half, radix*half)
	}
	return leafSpine(s, s.Hosts/half, 0, 1)
}

// uplinks divides the ports down by the oversubscription.
func uplinks(down int, over float64) (int, error) {
	if over == 0 {
		over = 1
	}
	up := int(float64(down) / over)
	if up < 1 || float64(float64(up)*over) != float64(down) {
		return 0, fmt.Errorf("oversubscription %g does not divide the %d ports down of a leaf into a whole number of uplinks", over, down)
	}
	return up, nil
}

// leafSpineCounts fills in what is 0, and says what does not fit.
func leafSpineCounts(s Spec, leaves, spines, bundle int) (int, int, error) {
	if leaves == 0 {
		for leaves = 2; leaves*leaves < s.Hosts || s.Hosts%leaves != 0; leaves++ {
			if leaves > s.Hosts {
				return 0, 0, fmt.Errorf("a leafspine needs at least 2 hosts; %d were asked for", s.Hosts)
			}
		}
	}
	if s.Hosts%leaves != 0 {
		return 0, 0, fmt.Errorf("%d hosts do not divide into %d leaves", s.Hosts, leaves)
	}
	perLeaf := s.Hosts / leaves
	if spines == 0 {
		up, err := uplinks(perLeaf, s.Oversubscription)
		if err != nil {
			return 0, 0, err
		}
		if spines = up / bundle; spines == 0 || up%bundle != 0 {
			return 0, 0, fmt.Errorf("%d uplinks of a leaf do not divide into bundles of %d", up, bundle)
		}
	} else if s.Oversubscription > 1 {
		return 0, 0, fmt.Errorf("spines and oversubscription are both given: %d spines for %d hosts a leaf already fix it", spines, perLeaf)
	}
	return leaves, spines, nil
}

func leafSpine(s Spec, leaves, spines, bundle int) (*Network, error) {
	leaves, spines, err := leafSpineCounts(s, leaves, spines, bundle)
	if err != nil {
		return nil, err
	}
	perLeaf := s.Hosts / leaves
	n := newNetwork(s)
	leaf0 := n.addSwitches(leaves, "leaf")
	spine0 := n.addSwitches(spines, "spine")
	for h := range s.Hosts {
		n.cable(Node(h), leaf0+Node(h/perLeaf), 0, s, 0)
	}
	for l := range leaves {
		for sp := range spines {
			for b := range bundle {
				n.cable(leaf0+Node(l), spine0+Node(sp), 1, s, b)
			}
		}
	}
	return n, nil
}
