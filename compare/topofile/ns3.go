package topofile

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-transport/weft/compare/workload/lines"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// A Graph is a topology file of HPCC or ConWeave.
type Graph struct {
	Nodes    int
	IsSwitch []bool // by node id
	Cables   []Cable
	file     string
}

// A Cable joins two nodes.
type Cable struct {
	A, B    int
	RateBps int64
	Delay   instant.Time
	Loss    float64 // probability for a packet, in each direction
	line    int
}

// ReadNS3 reads a topology file; file names it in errors:
//
//	6 2 5                         nodes, switches, links
//	4 5                           ids of the switches
//	0 4 100Gbps 0.001ms 0         a link: two nodes, rate, delay, loss
//	...
//
// Hosts are the other nodes and have one link each; their ids come first. What follows the last link is for readers, as
// in the files of ConWeave, unless it is one more link.
func ReadNS3(from io.Reader, file string) (*Graph, error) {
	r := lines.New(from, file)
	g := &Graph{file: file}
	switches, cables, err := g.header(r)
	if err == nil {
		err = g.switches(r, switches)
	}
	if err != nil {
		return nil, err
	}
	for r.Next() {
		c, err := g.cable(r)
		if len(g.Cables) == cables {
			if err == nil {
				return nil, r.Errorf("the first line announces %d links but there are more", cables)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		g.Cables = append(g.Cables, c)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if len(g.Cables) != cables {
		return nil, r.Errorf("the first line announces %d links but there are %d", cables, len(g.Cables))
	}
	return g, g.check()
}

func (g *Graph) header(r *lines.Reader) (switches, cables int, err error) {
	if !r.Next() {
		if err := r.Err(); err != nil {
			return 0, 0, err
		}
		return 0, 0, r.Errorf("the file is empty; expected the numbers of nodes, switches and links")
	}
	if len(r.Fields) != 3 {
		return 0, 0, r.Errorf("%d columns; expected the numbers of nodes, switches and links", len(r.Fields))
	}
	var n [3]int64
	for i, what := range []string{"nodes", "switches", "links"} {
		if n[i], err = r.Whole(r.Fields[i], what, 1, []int64{1 << 20, 1 << 20, maxLinks / 2}[i]); err != nil {
			return 0, 0, err
		}
	}
	g.Nodes = int(n[0])
	if n[1] > n[0]-2 {
		return 0, 0, r.Errorf("%d switches among %d nodes; expected at least 2 hosts", n[1], n[0])
	}
	return int(n[1]), int(n[2]), nil
}

// switches reads the ids, which may be spread over lines.
func (g *Graph) switches(r *lines.Reader, count int) error {
	g.IsSwitch = make([]bool, g.Nodes)
	for found := 0; found < count; {
		if !r.Next() {
			if err := r.Err(); err != nil {
				return err
			}
			return r.Errorf("the ids of %d switches are missing", count-found)
		}
		for _, field := range r.Fields {
			id, err := r.Whole(field, "switch", 0, int64(g.Nodes-1))
			if err != nil {
				return err
			}
			if g.IsSwitch[id] {
				return r.Errorf("switch %d is given twice", id)
			}
			g.IsSwitch[id] = true
			found++
		}
		if found > count {
			return r.Errorf("the first line announces %d switches but there are %d", count, found)
		}
	}
	for id := 0; id < g.Nodes-count; id++ {
		if g.IsSwitch[id] {
			return r.Errorf("switch %d comes before hosts; expected hosts 0 to %d and then switches", id, g.Nodes-count-1)
		}
	}
	return nil
}

// cable reads "0 4 100Gbps 0.001ms 0".
func (g *Graph) cable(r *lines.Reader) (Cable, error) {
	c := Cable{line: r.Line}
	if len(r.Fields) != 5 {
		return c, r.Errorf("%d columns; expected node node rate delay loss, such as 0 4 100Gbps 0.001ms 0", len(r.Fields))
	}
	for i, end := range []*int{&c.A, &c.B} {
		n, err := r.Whole(r.Fields[i], "node", 0, int64(g.Nodes-1))
		if err != nil {
			return c, err
		}
		*end = int(n)
	}
	if c.A == c.B {
		return c, r.Errorf("node %d is linked to itself", c.A)
	}
	var err error
	if c.RateBps, err = param.ParseRate(strings.Replace(r.Fields[2], "b/s", "bps", 1)); err != nil || c.RateBps == 0 {
		return c, r.Errorf("rate: %s is not a rate such as 100Gbps", lines.Quote(r.Fields[2]))
	}
	if c.Delay, err = param.ParseTime(r.Fields[3]); err != nil || c.Delay < 0 || c.Delay > instant.Second {
		return c, r.Errorf("delay: %s is not a time up to a second such as 0.001ms", lines.Quote(r.Fields[3]))
	}
	c.Loss, err = r.Decimal(r.Fields[4], "loss", 0, 1)
	return c, err
}

// hosts returns the number of nodes that are not switches.
func (g *Graph) hosts() int {
	for id, is := range g.IsSwitch {
		if is {
			return id
		}
	}
	return g.Nodes
}

// check makes sure that every host has one link, to a switch, and that all are connected.
func (g *Graph) check() error {
	cables := make([]int, g.Nodes)
	hosts := g.hosts()
	for _, c := range g.Cables {
		if c.A < hosts && c.B < hosts {
			return fmt.Errorf("%s:%d: hosts %d and %d are linked directly; expected a switch at one end", g.file, c.line, c.A, c.B)
		}
		for _, end := range [...]int{c.A, c.B} {
			if cables[end]++; end < hosts && cables[end] > 1 {
				return fmt.Errorf("%s:%d: host %d has more than one link", g.file, c.line, end)
			}
		}
	}
	for host, distance := range g.distances(0) {
		if distance < 0 && host < hosts {
			return fmt.Errorf("%s: no links lead from host 0 to host %d", g.file, host)
		}
	}
	return nil
}

// distances counts the links from a node, or from all hosts if it is -1, to every node; -1: none
// lead there.
func (g *Graph) distances(from int) []int {
	neighbours := make([][]int, g.Nodes)
	for _, c := range g.Cables {
		neighbours[c.A] = append(neighbours[c.A], c.B)
		neighbours[c.B] = append(neighbours[c.B], c.A)
	}
	distance := make([]int, g.Nodes)
	var queue []int
	for id := range distance {
		distance[id] = -1
		if id == from || from < 0 && !g.IsSwitch[id] {
			distance[id] = 0
			queue = append(queue, id)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, next := range neighbours[queue[0]] {
			if distance[next] < 0 {
				distance[next] = distance[queue[0]] + 1
				queue = append(queue, next)
			}
		}
	}
	return distance
}

// Network builds the fabric. Switches are called sw and their id; the tier of a link is the
// distance of its lower end from the nearest host. s may give a delay of switches, which the file
// has no word for; it may not contradict the rest.
func (g *Graph) Network(s emulator.Spec) (*emulator.Network, error) {
	hosts := g.hosts()
	if err := agree(s, hosts, g.hostRate()); err != nil {
		return nil, err
	}
	n := &emulator.Network{Hosts: hosts, Switches: g.Nodes - hosts, SwitchDelay: s.SwitchDelay}
	for id := range g.Nodes {
		name := fmt.Sprintf("h%d", id)
		if id >= hosts {
			name = fmt.Sprintf("sw%d", id)
		}
		n.NodeNames = append(n.NodeNames, name)
	}
	height := g.distances(-1)
	parallel := map[[2]int]int{}
	for _, c := range g.Cables {
		lower, upper := c.A, c.B
		if height[lower] > height[upper] || height[lower] == height[upper] && lower > upper {
			lower, upper = upper, lower
		}
		g.add(n, c, lower, upper, height[lower], parallel[[2]int{lower, upper}])
		parallel[[2]int{lower, upper}]++
	}
	return n, nil
}

// add appends both directions of a cable.
func (g *Graph) add(n *emulator.Network, c Cable, lower, upper, tier, bundle int) {
	suffix := ""
	if bundle > 0 {
		suffix = fmt.Sprintf(".%d", bundle)
	}
	at := int32(len(n.Links))
	up := emulator.LinkSpec{From: emulator.Node(lower), To: emulator.Node(upper), RateBps: c.RateBps, Delay: c.Delay,
		Reverse: at + 1, Tier: uint8(min(tier, 255)), Up: true, Name: n.NodeNames[lower] + "-" + n.NodeNames[upper] + suffix}
	down := up
	down.From, down.To, down.Reverse, down.Up = up.To, up.From, at, false
	down.Name = n.NodeNames[upper] + "-" + n.NodeNames[lower] + suffix
	n.Links = append(n.Links, up, down)
}

// hostRate returns the rate of the first host's link.
func (g *Graph) hostRate() int64 {
	for _, c := range g.Cables {
		if c.A == 0 || c.B == 0 {
			return c.RateBps
		}
	}
	return 0
}

// LossByLink returns the loss of every link of Network, by index.
func (g *Graph) LossByLink() []float64 {
	losses := make([]float64, 0, 2*len(g.Cables))
	for _, c := range g.Cables {
		losses = append(losses, c.Loss, c.Loss)
	}
	return losses
}

// Losses returns the loss of every link of the network that a file describes, by index; nil: nothing
// is lost.
func Losses(name string) ([]float64, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	g, err := ReadNS3(file, name)
	if err != nil {
		return nil, err
	}
	for _, c := range g.Cables {
		if c.Loss > 0 {
			return g.LossByLink(), nil
		}
	}
	return nil, nil
}
