package netns

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/instant"
)

// A Command is one thing to do: arguments, the first of which is the program.
type Command []string

// String is the command as a shell reads it.
func (c Command) String() string {
	words := make([]string, len(c))
	for i, w := range c {
		if words[i] = w; !plain.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,%+@-]+$`)

// Options say what links are like beside what the network says.
type Options struct {
	Name       string // of the plan: letters, digits and -, at most 12
	QueueBytes int64  // of a port; 0: DefaultQueue
	ECNMin     int64  // queue from which RED marks, in bytes; 0: no marks
	ECNMax     int64  // queue from which it marks as often as ECNP says
	ECNP       float64
	// Shape limits links to their rates. Without it links are as fast as the machine.
	Shape bool
}

// DefaultQueue is the room of a port.
const DefaultQueue = 256 << 10

// A Plan builds a network, and takes it away.
type Plan struct {
	Name    string
	Hosts   []string // namespaces of hosts, by number
	Links   []string // by number: their names
	Up      []Command
	Notes   []string // what the network says and the kernel is not asked for
	needs   needs
	devices []device
	asked   []asked // by link
	// askedRTT is the round trip between the first and the last host over the shortest way.
	askedRTT time.Duration
	// userSpace: hosts alone; what is between them is not the kernel's.
	userSpace bool
}

// asked is what the kernel shall do at a link.
type asked struct {
	delay  time.Duration
	loss   float64
	burst  float64 // mean number of losses in a row
	rate   int64
	shaped bool
}

// A device is the sending end of a link.
type device struct {
	namespace, name string
	link            int
}

// needs are parts of a kernel without which a plan cannot be carried out.
type needs struct{ netem, red, tbf bool }

const (
	leastDelay = 10 * instant.Microsecond // less is lost in what a veth pair takes
	mostRate   = 40e9                     // more than any machine moves through veth pairs
	mostNodes  = 1024
)

var goodName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,11}$`)

// NewPlan works out the commands for a network.
func NewPlan(n *emulator.Network, o Options) (*Plan, error) {
	if !goodName.MatchString(o.Name) {
		return nil, fmt.Errorf("netns: the name %q; expected small letters, digits and -, a letter first, at most 12", o.Name)
	}
	if nodes := n.Hosts + n.Switches; nodes > mostNodes {
		return nil, fmt.Errorf("netns: %d hosts and switches; expected at most %d namespaces", nodes, mostNodes)
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = DefaultQueue
	}
	ruler, err := emulator.NewRuler(n)
	if err != nil {
		return nil, err
	}
	b := builder{net: n, opt: o, ruler: ruler, plan: &Plan{Name: o.Name}, device: make([]string, len(n.Links)), local: make([]string, len(n.Links))}
	for _, l := range n.Links {
		b.plan.Links = append(b.plan.Links, l.Name)
	}
	b.nodes()
	b.cables()
	b.routes()
	if err := b.shape(); err != nil {
		return nil, err
	}
	first, last := 0, n.Hosts-1
	b.plan.askedRTT = b.shortest(emulator.Node(first), last) + b.shortest(emulator.Node(last), first)
	return b.plan, nil
}

// shortest is the least delay from a node to a host.
func (b *builder) shortest(at emulator.Node, host int) (least time.Duration) {
	if int(at) == host {
		return 0
	}
	least = 1 << 62
	for _, link := range b.ruler.Ways(at, host) {
		least = min(least, b.plan.asked[link].delay+b.shortest(b.net.Links[link].To, host))
	}
	return least
}

type builder struct {
	net    *emulator.Network
	opt    Options
	ruler  *emulator.Ruler
	plan   *Plan
	device []string // by link: its sending end
	local  []string // by link: address of that end; "" if it is a host's
}

func (b *builder) do(words ...string) { b.plan.Up = append(b.plan.Up, Command(words)) }

func (b *builder) in(node emulator.Node, words ...string) {
	b.do(append([]string{"ip", "-n", b.name(node)}, words...)...)
}

// name returns the namespace of a node.
func (b *builder) name(node emulator.Node) string { return b.opt.Name + "." + b.net.NodeNames[node] }

func (b *builder) nodes() {
	settings := []string{"net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"}
	router := append([]string{"net.ipv4.ip_forward=1", "net.ipv4.fib_multipath_hash_policy=1", "net.ipv4.icmp_ratelimit=0"}, settings...)
	for i := range b.net.NodeNames {
		node := emulator.Node(i)
		if i < b.net.Hosts {
			b.plan.Hosts = append(b.plan.Hosts, b.name(node))
		}
		b.do("ip", "netns", "add", b.name(node))
		sysctl := []string{"ip", "netns", "exec", b.name(node), "sysctl", "-qw"}
		if i < b.net.Hosts {
			b.do(append(sysctl, settings...)...)
		} else {
			b.do(append(sysctl, router...)...)
		}
		b.in(node, "link", "set", "lo", "up")
	}
}

// cables makes a veth pair for each cable. A switch has an address of its own on each, in 100.64.0.0/10; a host has
// the one that programs use.
func (b *builder) cables() {
	parallel := make(map[[2]emulator.Node]int)
	cable := 0
	for i, l := range b.net.Links {
		if int(l.Reverse) < i {
			continue
		}
		k := parallel[[2]emulator.Node{l.From, l.To}]
		parallel[[2]emulator.Node{l.From, l.To}]++
		here, there := b.net.NodeNames[l.To], b.net.NodeNames[l.From]
		if k > 0 {
			here, there = fmt.Sprintf("%s.%d", here, k), fmt.Sprintf("%s.%d", there, k)
		}
		b.do("ip", "link", "add", here, "netns", b.name(l.From), "type", "veth", "peer", "name", there, "netns", b.name(l.To))
		for end, link := range []int{i, int(l.Reverse)} {
			node := b.net.Links[link].From
			dev := []string{here, there}[end]
			b.device[link] = dev
			b.plan.devices = append(b.plan.devices, device{b.name(node), dev, link})
			if int(node) < b.net.Hosts {
				b.in(node, "addr", "add", live.AddrOf(int(node)).String()+"/32", "dev", dev)
			} else {
				n := 2*cable + end
				b.local[link] = fmt.Sprintf("100.%d.%d.%d", 64+n>>16, n>>8&255, n&255)
				b.in(node, "addr", "add", b.local[link]+"/32", "dev", dev)
			}
			b.in(node, "link", "set", dev, "up")
			b.do("ip", "netns", "exec", b.name(node), "ethtool", "-K", dev, "tso", "off", "gso", "off", "gro", "off", "tx-udp-segmentation", "off")
		}
		cable++
	}
}

// routes gives every node all its shortest ways to every host. Hosts send everything to their switch.
func (b *builder) routes() {
	for i := range b.net.NodeNames {
		node := emulator.Node(i)
		if i < b.net.Hosts {
			link := b.ruler.Ways(node, i)[0]
			gate := b.local[b.net.Links[link].Reverse]
			b.in(node, "route", "add", gate+"/32", "dev", b.device[link])
			b.in(node, "route", "add", "default", "via", gate, "dev", b.device[link], "src", live.AddrOf(i).String())
			continue
		}
		for h := range b.net.Hosts {
			ways := b.ruler.Ways(node, h)
			to := live.AddrOf(h).String() + "/32"
			if len(ways) == 1 && b.net.Links[ways[0]].To == emulator.Node(h) {
				b.in(node, "route", "add", to, "dev", b.device[ways[0]])
				continue
			}
			words := []string{"route", "add", to}
			for _, w := range ways {
				words = append(words, "nexthop", "via", b.local[b.net.Links[w].Reverse], "dev", b.device[w], "onlink")
			}
			b.in(node, words...)
		}
	}
}

// shape gives links their delays, impairments, rates and queues: a netem first, and behind it the rate and its queue.
func (b *builder) shape() error {
	left := make(map[string]bool)
	b.plan.asked = make([]asked, len(b.net.Links))
	for i, l := range b.net.Links {
		delay := l.Delay
		if int(l.To) >= b.net.Hosts {
			delay += b.net.SwitchDelay
		}
		var rule netem.Params
		if l.Netem != nil {
			rule = *l.Netem
		}
		switch {
		case delay >= leastDelay:
			rule.Delay += delay
		case delay > 0 && !left[delay.String()]:
			left[delay.String()] = true
			b.plan.Notes = append(b.plan.Notes, fmt.Sprintf("delays of %v are left out: less than %v is lost in what a veth pair takes", delay, leastDelay))
		}
		qdisc := []string{"tc", "-n", b.name(l.From), "qdisc", "add", "dev", b.device[i]}
		parent := []string{"root"}
		a := &b.plan.asked[i]
		*a = asked{delay: rule.Delay.Duration(), loss: rule.Loss.Mean(), burst: rule.Loss.MeanBurst(), shaped: b.opt.Shape || rule.Delay > 0 || !rule.Loss.None()}
		if text := tc(rule); text != "" {
			b.plan.needs.netem = true
			b.do(append(append(qdisc[:len(qdisc):len(qdisc)], append(parent, "handle", "1:", "netem")...), strings.Fields(text)...)...)
			parent = []string{"parent", "1:"}
		}
		if !b.opt.Shape {
			continue
		}
		if l.RateBps > mostRate {
			return fmt.Errorf("netns: link %s has %d Gbit/s; expected at most %d, which namespaces can carry (set fabric.rate)", l.Name, l.RateBps/1e9, int(mostRate/1e9))
		}
		a.rate = l.RateBps
		b.limit(qdisc, parent, l.RateBps)
	}
	return nil
}

// limit puts the rate and the queue of a port on its device.
func (b *builder) limit(qdisc, parent []string, bps int64) {
	b.plan.needs.tbf = true
	burst := max(bps/8/1000, 32<<10) // a millisecond, and no less than what a timer of the kernel needs
	words := append(append([]string{}, qdisc...), parent...)
	b.do(append(words, "handle", "2:", "tbf", "rate", fmt.Sprintf("%dbit", bps), "burst", fmt.Sprint(burst), "limit", fmt.Sprint(b.opt.QueueBytes))...)
	if b.opt.ECNMin == 0 {
		return
	}
	b.plan.needs.red = true
	o := b.opt
	b.do(append(append([]string{}, qdisc...), "parent", "2:1", "handle", "3:", "red", "limit", fmt.Sprint(o.QueueBytes), "min", fmt.Sprint(o.ECNMin), "max", fmt.Sprint(o.ECNMax),
		"avpkt", "1000", "burst", fmt.Sprint(max(1, (2*o.ECNMin+o.ECNMax)/3000+1)), "bandwidth", fmt.Sprintf("%dbit", bps), "probability", fmt.Sprint(o.ECNP), "ecn")...)
}

// tc writes a netem for the kernel, which knows no word for order.
func tc(p netem.Params) string {
	p.FreeOrder = false
	if p.Delay > 0 && p.Limit == netem.DefaultLimit {
		p.Limit = 100_000 // that of tc is a queue of few milliseconds
	}
	return strings.ReplaceAll(p.String(), "order free", "")
}

// Text is the plan as a script.
func (p *Plan) Text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "# %d namespaces; up:\n", len(p.namespaces()))
	for _, note := range p.Notes {
		fmt.Fprintf(&s, "# %s\n", note)
	}
	for _, c := range p.Up {
		fmt.Fprintln(&s, c)
	}
	fmt.Fprintln(&s, "# down:")
	for _, c := range p.Down() {
		fmt.Fprintln(&s, c)
	}
	return s.String()
}

func (p *Plan) namespaces() (all []string) {
	for _, c := range p.Up {
		if len(c) == 4 && c[1] == "netns" && c[2] == "add" {
			all = append(all, c[3])
		}
	}
	return all
}

// Down returns the commands that take the network away: its veth pairs go with the namespaces.
func (p *Plan) Down() (all []Command) {
	for _, name := range p.namespaces() {
		all = append(all, Command{"ip", "netns", "del", name})
	}
	return all
}

// Host returns the namespace of a host by its name in the network or its number.
func (p *Plan) Host(name string) (string, error) {
	for i, h := range p.Hosts {
		if h == p.Name+"."+name || fmt.Sprint(i) == name {
			return h, nil
		}
	}
	return "", fmt.Errorf("netns: no host %q; expected %s to %s", name, strings.TrimPrefix(p.Hosts[0], p.Name+"."), strings.TrimPrefix(p.Hosts[len(p.Hosts)-1], p.Name+"."))
}

var errNotLinux = errors.New("netns: namespaces are Linux's")
