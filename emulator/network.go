package emulator

import (
	"fmt"
	"sync"

	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Time is an instant in picoseconds since the start of the run.
type Time = instant.Time

// Never is later than every instant of a run.
const Never = instant.Never

// A Node is a host or a switch: hosts are 0..Hosts-1, switches follow.
type Node int32

// A LinkSpec is one direction of a cable.
type LinkSpec struct {
	From, To Node
	RateBps  int64
	Delay    Time  // propagation
	Reverse  int32 // index of the other direction
	Tier     uint8 // 0: host links; 1: leaf to the tier above; 2: next
	Rail     uint8 // of hosts with rails: 1 for the first; 0: none
	Up       bool  // away from hosts
	Name     string
	Netem    *netem.Params // what packets meet at the far end, apart from queues; nil: nothing
}

// A Network is the graph that a topology builds. Hosts have one link; those with several ports have it to their card. Routes
// follow from the graph: every shortest path, hop by hop.
type Network struct {
	Hosts       int
	Switches    int
	Cards       int  // the first so many switches are cards of hosts with several ports: they do not delay, and do not forward for others
	Planes      int  // networks beside each other, a port of each card in each; 0 counts as 1
	Rails       int  // ports of a card, each with a leaf of its own under spines that all share; 0 counts as 1
	PinPairs    bool // a card keeps all packets between two hosts on one port, instead of hashing their entropy values
	AnyPort     bool // spines choose among the rails of a destination, instead of keeping to the one that a packet came by
	SwitchDelay Time // from the last bit in to the queue of the egress port
	Links       []LinkSpec
	NodeNames   []string // of every node, hosts first

	once   sync.Once
	base   *routes // with every link up; shared by all fabrics of the network
	broken error
}

// baseRoutes returns the routes of the whole network, worked out once.
func (n *Network) baseRoutes() (*routes, error) {
	n.once.Do(func() { n.base, n.broken = newRoutes(n, func(int) bool { return true }) })
	return n.base, n.broken
}

// Spec is what all topologies have in common; a topology's own parameters come on top.
type Spec struct {
	Hosts            int
	RateBps          int64   // host links, and all others unless a tier says otherwise
	LinkDelay        Time    // propagation of every link unless a tier says otherwise
	SwitchDelay      Time    // per switch
	Oversubscription float64 // host bandwidth over uplink bandwidth of a leaf; 0 counts as 1
	TierRateBps      []int64 // by tier, 0 or missing: RateBps
	TierDelay        []Time  // by tier, negative or missing: LinkDelay
}

// TierRate returns the rate of the links of a tier.
func (s Spec) TierRate(tier int) int64 {
	if tier < len(s.TierRateBps) && s.TierRateBps[tier] > 0 {
		return s.TierRateBps[tier]
	}
	return s.RateBps
}

// Delay returns the propagation delay of the links of a tier.
func (s Spec) Delay(tier int) Time {
	if tier < len(s.TierDelay) && s.TierDelay[tier] >= 0 {
		return s.TierDelay[tier]
	}
	return s.LinkDelay
}

// A Topology builds a Network for a Spec, or says which count does not fit.
type Topology func(Spec) (*Network, error)

// Topologies holds every known topology.
var Topologies = param.Registry[Topology]{Noun: "topology"}

// addSwitches names n further switches prefix0.. and returns the first.
func (n *Network) addSwitches(count int, prefix string) Node {
	first := Node(n.Hosts + n.Switches)
	n.Switches += count
	for i := range count {
		n.NodeNames = append(n.NodeNames, fmt.Sprintf("%s%d", prefix, i))
	}
	return first
}

// newNetwork starts a graph with its hosts.
func newNetwork(s Spec) *Network {
	n := &Network{Hosts: s.Hosts, SwitchDelay: s.SwitchDelay, NodeNames: make([]string, 0, s.Hosts+64)}
	for i := range s.Hosts {
		n.NodeNames = append(n.NodeNames, fmt.Sprintf("h%d", i))
	}
	return n
}

// cable adds both directions between a lower and an upper node. The k-th parallel cable between
// the same two nodes is told apart by bundle (0 for the first).
func (n *Network) cable(lower, upper Node, tier int, s Spec, bundle int) {
	up := int32(len(n.Links))
	suffix := ""
	if bundle > 0 {
		suffix = fmt.Sprintf(".%d", bundle)
	}
	link := LinkSpec{RateBps: s.TierRate(tier), Delay: s.Delay(tier), Tier: uint8(tier)}
	link.From, link.To, link.Up, link.Reverse = lower, upper, true, up+1
	link.Name = n.NodeNames[lower] + "-" + n.NodeNames[upper] + suffix
	n.Links = append(n.Links, link)
	link.From, link.To, link.Up, link.Reverse = upper, lower, false, up
	link.Name = n.NodeNames[upper] + "-" + n.NodeNames[lower] + suffix
	n.Links = append(n.Links, link)
}

// LinkNamed finds a directed link by "from-to", for example "leaf0-spine1". -1: there is none.
func (n *Network) LinkNamed(name string) int {
	for i := range n.Links {
		if n.Links[i].Name == name {
			return i
		}
	}
	return -1
}
