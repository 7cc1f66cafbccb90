package runner

import (
	"fmt"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// The classes of a fabric that runs one protocol.
const (
	controlClass = core.Class(0) // acknowledgements, CNPs: served first, tail drop
	trimmedClass = core.Class(1) // headers of trimmed packets: served next, up to their share
	dataClass    = core.Class(2)
)

// Nominal sizes on the wire, for figures that must not depend on the protocol: the ideal
// completion time, and the round trip that "bdp" stands for.
const (
	nominalHeader  = 60 // IP, UDP and transport header of a full packet
	nominalControl = 26 // of an acknowledgement, beside the link overhead: 64 bytes with the usual 38
)

// A Setting is what all runs of a scenario have in common: the fabric's measures.
type Setting struct {
	Scenario *scenario.Scenario
	ruler    *emulator.Ruler
	wireFull int64 // nominal full packet
	wireAck  int64
	BaseRTT  instant.Time // idle, longest path: a full packet out, an acknowledgement back
	BDP      int64        // host rate times BaseRTT, bytes
	Notes    []string     // what a reader must know of how the workload was read; from Fits on

	load struct{ flows, packets int64 } // what a run sends; from Fits on
}

// NewSetting measures the fabric of a scenario.
func NewSetting(s *scenario.Scenario) (*Setting, error) {
	set := &Setting{Scenario: s}
	if err := set.measure(); err != nil {
		return nil, err
	}
	for i := range s.Protocols {
		if err := set.check(&s.Protocols[i]); err != nil {
			return nil, fmt.Errorf("protocol %s: %w", s.Protocols[i].Label, err)
		}
	}
	return set, nil
}

// measure finds the sizes and times that everything else is reckoned in.
func (set *Setting) measure() error {
	if err := set.checkMemory(set.fabricMemory()); err != nil { // routes of a large fabric take minutes to find
		return fmt.Errorf("fabric: %w", err)
	}
	s := set.Scenario
	var err error
	if set.ruler, err = emulator.NewRuler(s.Fabric.Network); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	set.wireFull = s.Fabric.PayloadMTU + s.Fabric.LinkOverhead + nominalHeader
	set.wireAck = s.Fabric.LinkOverhead + nominalControl
	if s.Fabric.WireBytes > 0 {
		set.wireFull = s.Fabric.WireBytes
		set.wireAck = 64 // the simulators that count packets so
	}
	set.BaseRTT = set.ruler.LongestRTT(set.wireFull, set.wireAck)
	set.BDP = int64(float64(s.Fabric.LineRateBps()) / 8 * set.BaseRTT.Seconds())
	return nil
}

// check refuses what cannot be known to be wrong before the fabric is measured.
func (set *Setting) check(e *scenario.Entry) error {
	if err := e.CheckClass(set.BDP); err != nil {
		return err
	}
	if err := set.checkQueues(e); err != nil {
		return err
	}
	back, ok := e.Protocol.(protocol.GoesBack)
	if !ok {
		return nil
	}
	window := back.GoBackWindow(set.Env(e, scenario.SeedSet{}, nil))
	for _, l := range set.Scenario.Fabric.LossByLink() {
		if err := scenario.CheckEvery(l.Every, window); err != nil {
			return err
		}
	}
	return nil
}

// Ideal returns the completion time of a flow that has the network for itself and sends at the
// rate of the slowest link of its way: until the last byte is there, and until the sender knows.
func (set *Setting) Ideal(src, dst int, bytes uint64) (receiver, sender instant.Time) {
	packets, last := set.packets(bytes)
	rate := set.ruler.Rate(src, dst)
	ahead := float64(packets-1) * float64(set.wireFull) * 8 / float64(rate) * float64(instant.Second)
	receiver = instant.Time(ahead) + set.ruler.OneWay(src, dst, last)
	return receiver, receiver + set.ruler.OneWay(dst, src, set.wireAck)
}

// Parts returns what a flow takes at least, as Ideal reckons it: on a link of its host's rate, all packets one behind the other,
// and for the rest of the way of its last packet and of the answer.
func (set *Setting) Parts(src, dst int, bytes uint64) (own, rest instant.Time) {
	packets, last := set.packets(bytes)
	rate := set.Scenario.Fabric.LineRateBps()
	end := emulator.Serialisation(last, rate)
	own = instant.Time(float64(packets-1)*float64(set.wireFull)*8/float64(rate)*float64(instant.Second)) + end
	return own, set.ruler.OneWay(src, dst, last) - end + set.ruler.OneWay(dst, src, set.wireAck)
}

// packets returns how many there are of a flow, and the bytes of the last on the wire.
func (set *Setting) packets(bytes uint64) (n uint64, last int64) {
	mtu := uint64(set.Scenario.Fabric.PayloadMTU)
	n = max(1, (bytes+mtu-1)/mtu)
	return n, int64(bytes-(n-1)*mtu) + set.wireFull - int64(mtu)
}

// overhead returns the bytes that a packet of a protocol occupies beside what its Stack made: link,
// IP, UDP and checksum.
func (set *Setting) overhead(p protocol.Protocol) int64 {
	f := &set.Scenario.Fabric
	if f.WireBytes > 0 {
		return max(0, f.WireBytes-f.PayloadMTU-p.TransportBytes())
	}
	return f.LinkOverhead + ipUDPChecksum
}

const ipUDPChecksum = 20 + 8 + 4

// classes resolves the class settings of a protocol for this fabric.
func (set *Setting) classes(e *scenario.Entry) ([]emulator.Class, error) {
	f := &set.Scenario.Fabric
	routing, err := emulator.ParseRouting(e.Routing(f), set.BDP)
	if err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	data, err := classOf(e.Spec.Name, e.Class, set.BDP, f.Buffer.Alpha)
	if err != nil {
		return nil, err
	}
	data.TrimInto, data.Routing = uint8(trimmedClass), routing
	control := emulator.Class{Name: "control", Priority: 2, Alpha: f.Buffer.Alpha}
	trimmed := emulator.Class{Name: "trimmed", Priority: 1, MaxShare: e.Class.Float("trimShare"), QueueBytes: 2 * data.QueueBytes, Alpha: f.Buffer.Alpha}
	if trimmed.MaxShare >= 1 { // served like control
		trimmed.Priority, trimmed.MaxShare = 2, 0
	}
	return []emulator.Class{controlClass: control, trimmedClass: trimmed, dataClass: data}, nil
}

// classOf makes the class of some settings, bdp and alpha being those of the fabric.
func classOf(name string, v param.Values, bdp int64, alpha float64) (emulator.Class, error) {
	size := func(name string) int64 { return v.Bytes(name, bdp) }
	if own := v.Float("alpha"); own != 0 {
		alpha = own
	}
	c := emulator.Class{
		Name: name, QueueBytes: size("queue"), LastHopQ: size("lastHopQueue"), Alpha: alpha,
		ECNMin: size("ecnMin"), ECNMax: size("ecnMax"), ECNP: v.Float("ecnP"), NoLastHopECN: !v.Bool("ecnLastHop"),
		Trim: v.Bool("trim"), TrimBytes: size("trimBytes"), TrimTail: v.Bool("trimTail"),
		XOFF: size("xoff"), XON: size("xon"), Telemetry: v.Bool("telemetry"),
	}
	switch v.Word("flowControl") {
	case "pfc":
		c.FlowControl = emulator.PFC
	case "credit":
		c.FlowControl = emulator.Credit
	}
	if h := v.Word("headroom"); h != "auto" {
		bytes, err := param.ParseSize(h)
		if err != nil {
			return c, fmt.Errorf("class.headroom: %w", err)
		}
		c.Headroom = bytes.In(bdp)
	}
	return c, nil
}

// ProgramClasses are the classes that a scenario has for programs that bring their own transport; none: it does not say.
func ProgramClasses(s *scenario.Scenario) (all []emulator.Class, err error) {
	if len(s.Fabric.Classes) == 0 {
		return nil, nil
	}
	set := &Setting{Scenario: s}
	if err := set.measure(); err != nil {
		return nil, err
	}
	for i := range s.Fabric.Classes {
		p := &s.Fabric.Classes[i]
		c, err := classOf(p.Name, p.Settings, set.BDP, s.Fabric.Buffer.Alpha)
		if err == nil {
			err = p.CheckClass(set.BDP)
		}
		if err != nil {
			return nil, fmt.Errorf("fabric.classes.%d: %w", i, err)
		}
		c.Priority, c.Weight = p.Priority, p.Weight
		all = append(all, c)
	}
	return all, nil
}

// fabric builds the fabric for one protocol and seed, with its losses and faults.
func (set *Setting) fabric(e *scenario.Entry, seeds scenario.SeedSet, check bool) (*emulator.Fabric, error) {
	config, err := set.FabricConfig(e, seeds)
	if err != nil {
		return nil, err
	}
	config.Check = check
	f, err := emulator.New(set.Scenario.Fabric.Network, config)
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	return f, set.Weather(f)
}

// FabricConfig is how the fabric treats a protocol: the classes control, trimmed headers and data, in this order.
func (set *Setting) FabricConfig(e *scenario.Entry, seeds scenario.SeedSet) (emulator.Config, error) {
	s := set.Scenario
	classes, err := set.classes(e)
	return emulator.Config{
		Classes: classes, LinkOverhead: set.overhead(e.Protocol), BufferBytes: s.Fabric.Buffer.PerSwitch,
		MaxWireBytes: set.WireMTU(e.Protocol) + telemetryBytes(e), MinWireBytes: set.wireMin(),
		Seeds:        emulator.Seeds{Salt: seeds.Hash, Loss: seeds.Loss, Mark: seeds.Hash},
		RerouteLocal: s.Fabric.Reroute.Local, RerouteAll: s.Fabric.Reroute.Global,
		SamplePeriod: set.samplePeriod(),
	}, err
}

// Weather gives a fabric the losses and faults of the scenario. Faults are counted from now.
func (set *Setting) Weather(f *emulator.Fabric) error { return Weather(set.Scenario, set.wireFull, f) }

// Weather gives a fabric the losses and faults of a scenario, whose full packets have so many bytes on the wire. Faults
// are counted from now.
func Weather(s *scenario.Scenario, wireFull int64, f *emulator.Fabric) error {
	applyLoss(s, wireFull, f)
	return applyFaults(s, f)
}

// WireMTU returns the size of a full packet of a protocol on the wire.
func (set *Setting) WireMTU(p protocol.Protocol) int64 {
	return set.Scenario.Fabric.PayloadMTU + p.TransportBytes() + set.overhead(p)
}

// telemetryBytes is how much telemetry can add to a packet.
func telemetryBytes(e *scenario.Entry) int64 {
	if !e.Class.Bool("telemetry") {
		return 0
	}
	return emulator.MaxHops * emulator.HopBytes
}

// A silence is telemetry before there is a fabric: of hosts that are made for their settings.
type silence struct{}

func (silence) Hops(uint32) []core.Hop { return nil }
func (silence) Release(uint32)         {}

// minFrame is the smallest Ethernet frame, header and FCS included.
const minFrame = 64

// wireMin returns the size of the smallest packet on the wire.
func (set *Setting) wireMin() int64 {
	f := &set.Scenario.Fabric
	if f.WireBytes > 0 {
		return minFrame // the simulators that count packets so count neither preamble nor gap
	}
	const headerAndFCS = 18
	return minFrame + max(0, f.LinkOverhead-headerAndFCS)
}

func (set *Setting) samplePeriod() instant.Time {
	if p := set.Scenario.Fabric.SamplePeriod; p > 0 {
		return p
	}
	return max(set.BaseRTT/2, instant.Microsecond)
}

func applyLoss(s *scenario.Scenario, wireFull int64, f *emulator.Fabric) {
	for link, l := range s.Fabric.LossByLink() {
		if l.IsZero() {
			continue
		}
		packet := emulator.Serialisation(wireFull, f.Network().Links[link].RateBps)
		good, bad := l.Burst.Means(packet)
		f.SetLoss(link, emulator.Loss{
			Random: l.Random, Corrupt: l.Corrupt, Every: uint64(l.Every),
			Burst: emulator.Burst{MeanGood: good, MeanBad: bad, LossGood: l.Burst.LossGood, LossBad: l.Burst.LossBad},
		})
	}
}

func applyFaults(s *scenario.Scenario, f *emulator.Fabric) error {
	for i, given := range s.Faults {
		fault := emulator.Fault{At: f.Now() + given.At, For: given.For, Links: given.Links, Factor: given.Factor}
		switch given.Kind {
		case "down":
			fault.Kind = emulator.LinkDown
		case "flap":
			fault.Kind, fault.Every, fault.For = emulator.LinkDown, given.Period, given.Period/2
			if given.For != instant.Never {
				fault.Count = int(max(1, given.For/given.Period))
			}
		case "slow":
			fault.Kind = emulator.SlowLink
		case "loss":
			fault.Kind, fault.Loss = emulator.LinkLoss, emulator.Loss{Random: given.Loss}
		case "slowhost":
			fault.Kind = emulator.SlowHost
			fault.Links = hostLinks(f.Network(), given.Host)
		}
		if err := f.Schedule(fault); err != nil {
			return fmt.Errorf("faults.%d: %w", i, err)
		}
	}
	return nil
}

func hostLinks(n *emulator.Network, host int) []int {
	var links []int
	for i := range n.Links {
		if int(n.Links[i].From) == host || int(n.Links[i].To) == host {
			links = append(links, i)
		}
	}
	return links
}

// Env is what the protocol may know; memory is where a host's payloads are.
func (set *Setting) Env(e *scenario.Entry, seeds scenario.SeedSet, memory func(core.Addr) core.Memory) protocol.Env {
	s := set.Scenario
	wire := set.WireMTU(e.Protocol)
	var telemetry core.Telemetry
	if e.Class.Bool("telemetry") {
		telemetry = silence{}
	}
	return protocol.Env{
		Telemetry: telemetry,
		Hosts:     s.Fabric.Network.Hosts, LineRateBps: s.Fabric.LineRateBps(),
		BaseRTT: set.BaseRTT, BDP: set.BDP,
		PairRTT: func(a, b core.Addr) instant.Time {
			return set.ruler.RTT(int(a), int(b), wire, set.wireAck)
		},
		PayloadMTU: s.Fabric.PayloadMTU, WireMTU: wire,
		QueueBytes: e.Class.Bytes("queue", set.BDP), MaxHops: set.maxHops(),
		Trimming: e.Class.Bool("trim"), Lossless: e.Class.Word("flowControl") != "none",
		Data: dataClass, Control: controlClass, Seed: seeds.Protocol, Shared: new(any), Memory: memory,
	}
}

// maxHops returns the links of the longest way, by the same sampling as the longest round trip.
func (set *Setting) maxHops() int {
	hosts := set.Scenario.Fabric.Network.Hosts
	return max(set.ruler.Hops(0, hosts-1), set.ruler.Hops(0, hosts/2))
}
