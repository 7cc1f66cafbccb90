package scenario

import (
	"fmt"
	"path"
	"strings"

	"github.com/weft-transport/weft/compare/topofile"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// A Fabric is the network of a scenario, resolved.
type Fabric struct {
	Topology string       // name in emulator.Topologies
	Params   param.Values // the topology's own parameters
	Spec     emulator.Spec
	Network  *emulator.Network // what the topology built

	PayloadMTU   int64 // payload bytes of a full packet
	LinkOverhead int64 // bytes on the wire around the IP packet: Ethernet header, FCS, preamble, gap
	WireBytes    int64 // fixes the wire size of a full data packet, whatever the headers; 0: headers and LinkOverhead are counted

	Buffer  Buffer
	Reroute Reroute
	Routing string // how switches spread packets: "ecmp", "adaptive:metric=port", ...; "": as the protocol says

	Loss     Loss       // on every link, in each direction
	LinkLoss []LinkLoss // on some links instead; the last that matches counts
	FileLoss []float64  // by link, on top: what a topology file says; nil: nothing

	Classes []ProgramClass // of programs that bring their own transport; none: one class

	SamplePeriod instant.Time // of queue and link samples; 0: none
}

// A Buffer is the packet memory of each switch.
type Buffer struct {
	PerSwitch int64   // bytes; 0: sized by the topology
	Alpha     float64 // dynamic threshold: a queue may hold Alpha times the free memory
}

// Reroute says when switches learn of a dead link; instant.Never: not at all.
type Reroute struct {
	Local  instant.Time // the switches at its ends, after the failure
	Global instant.Time // all others
}

// LineRateBps returns the rate of the hosts' links.
func (f *Fabric) LineRateBps() int64 {
	for i := range f.Network.Links {
		if l := &f.Network.Links[i]; int(l.From) < f.Network.Hosts {
			return l.RateBps
		}
	}
	return f.Spec.RateBps
}

// Leaves returns the switch that each host hangs on.
func (f *Fabric) Leaves() []int32 {
	leaf := make([]int32, f.Network.Hosts)
	for i := range f.Network.Links {
		if l := &f.Network.Links[i]; int(l.From) < f.Network.Hosts {
			leaf[l.From] = int32(l.To)
		}
	}
	if cards := f.Network.Cards; cards > 0 { // the switch of the first plane
		for i := len(f.Network.Links) - 1; i >= 0; i-- {
			if l := &f.Network.Links[i]; f.Network.IsCard(l.From) && int(l.To) >= f.Network.Hosts {
				leaf[int(l.From)-f.Network.Hosts] = int32(l.To)
			}
		}
	}
	return leaf
}

// LossByLink returns the loss of every link of the network, by index.
func (f *Fabric) LossByLink() []Loss {
	losses := make([]Loss, len(f.Network.Links))
	for i := range losses {
		losses[i] = f.Loss
	}
	for _, special := range f.LinkLoss {
		for _, link := range special.Links {
			losses[link] = special.Loss
		}
	}
	for i, p := range f.FileLoss { // lost by either
		losses[i].Random += float64(p * (1 - losses[i].Random))
	}
	return losses
}

// alias says the names of switches in the words of trees with pods, or of those without.
var alias = strings.NewReplacer("leaf", "tor", "spine", "agg", "tor", "leaf", "agg", "spine")

// links returns the links whose names match a pattern such as "leaf0-spine*" (path.Match), with
// their other directions unless oneWay. Where no link is called so, leaf and tor, and spine and agg,
// are the same word, so that a fault can be taken from one topology to another.
func (f *Fabric) links(pattern string, oneWay bool) ([]int, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%q is not a pattern of link names (%v)", pattern, err)
	}
	found := f.match(pattern, oneWay)
	if found == nil {
		found = f.match(alias.Replace(pattern), oneWay)
	}
	if found == nil {
		return nil, fmt.Errorf("no link is called %q; links are called %s", pattern, f.someLinks())
	}
	return found, nil
}

func (f *Fabric) match(pattern string, oneWay bool) (found []int) {
	n := f.Network
	chosen := make([]bool, len(n.Links))
	for i := range n.Links {
		if match, _ := path.Match(pattern, n.Links[i].Name); match {
			chosen[i] = true
			if !oneWay {
				chosen[n.Links[i].Reverse] = true
			}
		}
	}
	for i, c := range chosen {
		if c {
			found = append(found, i)
		}
	}
	return found
}

// someLinks gives examples of link names: the first up of each tier.
func (f *Fabric) someLinks() string {
	text, tiers := "", map[uint8]bool{}
	for i := range f.Network.Links {
		l := &f.Network.Links[i]
		if l.Up && !tiers[l.Tier] {
			tiers[l.Tier] = true
			text += l.Name + ", "
		}
	}
	return text + "..."
}

// Limits of packet sizes.
const (
	minPayload, maxPayload = 64, 65_000
	maxOverhead            = 1024
)

// readFabric reads and builds the fabric. dir is where relative paths start.
func readFabric(r *reader, in *inputs) Fabric {
	var f Fabric
	f.Topology = r.text("topology", "leafspine")
	entry, err := emulator.Topologies.Lookup(f.Topology)
	if err != nil {
		r.fail(r.node.Child("topology"), "topology", err.Error()+suggest(f.Topology, emulator.Topologies.Names()))
		return f
	}
	fromFile := declares(entry.Params, "file")
	f.Spec = readSpec(r, fromFile)
	f.PayloadMTU = r.whole("payloadMTU", 4096, minPayload, maxPayload)
	f.LinkOverhead = r.bytes("linkOverhead", 38)
	f.WireBytes = r.bytes("wireBytes", 0)
	f.Buffer = readBuffer(r.mapping("buffer"))
	f.Reroute = readReroute(r.mapping("reroute"))
	f.Routing = parsed(r, "routing", "a word such as ecmp", "", func(word string) (string, error) {
		_, err := emulator.ParseRouting(word, 1)
		return word, err
	})
	f.Classes = readProgramClasses(r)
	loss := r.mapping("loss")
	f.SamplePeriod = readSamplePeriod(r)
	in.join(r, "file")
	f.Params = r.resolve(entry.Params)
	if *r.err != nil {
		return f
	}
	f.checkSizes(r)
	f.build(r, entry)
	if *r.err == nil {
		readLosses(loss, &f)
	}
	return f
}

// minSamplePeriod is about what a full packet takes at 400 Gb/s: more samples would say no more, and a run would
// do nothing else.
const minSamplePeriod = 100 * instant.Nanosecond

func readSamplePeriod(r *reader) instant.Time {
	period := r.time("samplePeriod", 0)
	if period > 0 && period < minSamplePeriod {
		r.fail(r.node.Child("samplePeriod"), "samplePeriod", fmt.Sprintf("%v is too short; expected %v or more, or 0 (as the fabric's round trip says)", period, minSamplePeriod))
	}
	return period
}

func declares(params []param.Param, name string) bool {
	for _, p := range params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// readSpec reads what all topologies have in common. A topology that comes from a file knows
// these things itself: what is not given stays zero.
func readSpec(r *reader, fromFile bool) emulator.Spec {
	s := emulator.Spec{Hosts: 128, RateBps: 400e9, LinkDelay: 500 * instant.Nanosecond, SwitchDelay: 500 * instant.Nanosecond, Oversubscription: 1}
	if fromFile {
		s = emulator.Spec{}
	}
	s.Hosts = int(r.whole("hosts", int64(s.Hosts), 1, 1<<20))
	s.RateBps = r.rate("rate", s.RateBps)
	s.LinkDelay = r.time("linkDelay", s.LinkDelay)
	s.SwitchDelay = r.time("switchDelay", s.SwitchDelay)
	s.Oversubscription = r.number("oversubscription", s.Oversubscription, 0.001, 1024)
	s.TierRateBps = readEach(r, "tierRates", "rates, host links first", parsePositiveRate)
	s.TierDelay = readEach(r, "tierDelays", "times, host links first", parseDuration)
	for _, delay := range append([]instant.Time{s.LinkDelay, s.SwitchDelay}, s.TierDelay...) {
		if delay > instant.Second {
			r.fail(nil, "", fmt.Sprintf("a delay of %v is longer than a second", delay))
		}
	}
	return s
}

// readEach reads a list of scalars.
func readEach[T any](r *reader, field, expected string, parse func(string) (T, error)) []T {
	var out []T
	for i, n := range r.list(field, expected) {
		if n.Kind != Scalar || n.Null {
			r.fail(n, fmt.Sprintf("%s.%d", field, i), "is "+n.Describe()+"; expected a value")
			return nil
		}
		value, err := parse(n.Text)
		if err != nil {
			r.fail(n, fmt.Sprintf("%s.%d", field, i), err.Error())
			return nil
		}
		out = append(out, value)
	}
	return out
}

func readBuffer(r *reader) Buffer {
	b := Buffer{PerSwitch: r.bytes("perSwitch", 0), Alpha: r.number("alpha", 1, 1.0/1024, 1024)}
	r.done()
	return b
}

func readReroute(r *reader) Reroute {
	out := Reroute{
		Local:  r.time("local", 50*instant.Microsecond),
		Global: r.time("global", 10*instant.Millisecond),
	}
	r.done()
	if out.Global < out.Local {
		r.fail(r.node.Child("global"), "global", fmt.Sprintf("%v is before local, %v: the switches next to a dead link learn of it first", out.Global, out.Local))
	}
	return out
}

// checkSizes refuses packet sizes that cannot be.
func (f *Fabric) checkSizes(r *reader) {
	if f.LinkOverhead > maxOverhead {
		r.fail(r.node.Child("linkOverhead"), "linkOverhead", fmt.Sprintf("%d bytes around a packet; expected at most %d", f.LinkOverhead, maxOverhead))
	}
	if f.WireBytes != 0 && f.WireBytes < f.PayloadMTU {
		r.fail(r.node.Child("wireBytes"), "wireBytes", fmt.Sprintf("a packet of %d bytes cannot carry the %d bytes of payloadMTU", f.WireBytes, f.PayloadMTU))
	}
}

// build makes the network, so that every later field is checked against it.
func (f *Fabric) build(r *reader, entry param.Entry[emulator.Topology]) {
	if *r.err != nil {
		return
	}
	topology, err := entry.New(f.Params)
	if err == nil {
		f.Network, err = topology(f.Spec)
	}
	if err != nil {
		r.fail(nil, "", f.Topology+": "+err.Error())
		return
	}
	f.Spec.Hosts = f.Network.Hosts
	if declares(entry.Params, "file") {
		f.Spec.RateBps, f.Spec.SwitchDelay = f.LineRateBps(), f.Network.SwitchDelay
		f.Spec.LinkDelay = f.Network.Links[0].Delay // for reports: that of the first host
	}
	if f.Topology == "ns3" {
		if f.FileLoss, err = topofile.Losses(f.Params.Word("file")); err != nil {
			r.fail(nil, "", err.Error())
		}
	}
}
