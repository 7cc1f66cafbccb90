package core

import (
	"errors"
	"fmt"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

// A Config says how an Endpoint behaves. The zero value is usable: every field's comment names
// its default. Names in capitals are parameters of the UE Specification.
type Config struct {
	Self  Addr
	Hosts int // addresses run from 0 to Hosts-1; 0: every address is accepted

	DataClass    Class // of requests and probes
	ControlClass Class // of ACK, NACK and control packets; usually another than DataClass
	Trimming     bool  // data is sent trimmable, and algorithms are told that the network trims

	PayloadMTU int // payload bytes of a full packet; 0: 4096. The specification knows 1024, 2048, 4096 and 8192
	// NominalOverhead is added to the bytes of a packet (UDP header and what follows it) to get
	// the size by which congestion control counts it, which is then rounded up to 256 bytes at
	// both ends. 0: 40, as the specification says; negative: nothing.
	NominalOverhead int
	// NominalMTU, if not 0, makes a full packet count exactly that many bytes at the sender, and
	// others in proportion: for calibration against simulators that do not round.
	NominalMTU int64

	LineRateBps int64 // of the host's link, bits per second; 0: 100 Gbit/s
	BaseRTT     Time  // to any peer on an idle network; 0: 12 us
	// LearnRTT makes the base RTT towards a peer the least that was measured, but BaseRTT at least: for networks whose round
	// trips nobody knows. The first sample replaces the controller and the sprayer by those of that path, and so does one
	// of half of it (not where control needs credit). Before there is one, the timer sends only the oldest packet again.
	LearnRTT bool
	// BaseRTTOf, if set, replaces BaseRTT where it returns more than 0.
	BaseRTTOf func(self, peer Addr) Time

	// PacingSlack is how far ahead of its rate a paced sender may be: it sends so much at once and then waits until it no
	// longer is, so that a carrier that sends bursts has some. 0: each packet waits for its time.
	PacingSlack Time

	NewController congestion.Maker // nil: "nscc" of the registry
	// Telemetry is the in-band telemetry of the carrier; nil: there is none, and controllers that work from it are refused.
	Telemetry  Telemetry
	NewSprayer spray.Maker // nil: "reps" of the registry
	PDCs       int         // unordered contexts per destination; 0: 1
	MPR        int         // PSNs accepted beyond the first missing one, units of 128; 0: 8 (Default_MPR), at most 255

	ACK       ACKConfig
	RTO       RTOConfig
	NACK      NACKConfig
	FastLoss  FastLossConfig
	TailProbe TailProbeConfig

	ClearTime       Time // PDS_Clear_Time: how long a response waits for a request to carry its CLEAR_PSN; 0: 1 ms
	IdleClose       Time // an idle context is closed after this; 0: never
	TargetIdle      Time // a target forgets a context that was silent for this; 0: never
	SegmentLifetime Time // a closed PDCID rests for twice this; 0: 1 s
	MaxTargets      int  // contexts kept open for peers; 0: 32767, the most there are PDCIDs for
	MaxResponses    int  // responses kept until cleared, besides one a context; 0: 1024

	// Remote gives access to the memory of a peer, or of a carrier's receive buffer, where payload
	// references are read. nil: payloads are never read, which is right where all are virtual.
	Remote func(owner Addr) Memory
	// OnlyRegistered refuses keys that no memory is registered for with BAD_MKEY, instead of
	// taking them as virtual buffers.
	OnlyRegistered bool
	JobID          uint32 // 24 bits, equal at both ends
	PIDOnFEP       uint16 // 12 bits
	ResourceIndex  uint16 // 12 bits; of the first receive queue, and of memory
	Resources      int    // receive queues: resource indices from ResourceIndex on; 0: 1
	InitiatorID    uint32 // that requests carry; 0: the address

	Unexpected   UnexpectedConfig
	MessageRetry RetryConfig
	MaxACKData   int  // Max_ACK_Data_Size: longest answer that travels in an ACK; 0: 16, the most; negative: none but fetched values
	MaxAnswers   int  // answers to reads that wait to be sent or acknowledged, of all contexts; each may have MPR of them in any case. 0: 16384
	MaxReadAhead int  // answers with data that a context asks for before they come; 0: two bandwidth-delay products, at least 4
	ResponseTime Time // how long data may stay away that the target has promised; 0: as long as a packet is sent again and again

	Seed     uint64
	StartPSN uint32 // for tests: first PSN of every context; 0: random

	requestSize  int  // of the PDS header of requests: with a credit target, or without
	grantsInAcks bool // congestion.Credited
}

// ACKConfig is the acknowledgement cadence of a target.
type ACKConfig struct {
	Trigger   int  // ACK_Gen_Trigger: bytes received that cause an ACK; 0: 16384
	MinAdd    int  // ACK_Gen_Min_Pkt_Add: bytes a packet counts at least; 0: 1024
	PerPacket bool // Enb_ACK_Per_Pkt
	Plain     bool // sends ACK instead of ACK_CC, as the reference provider does by default: no map, no bytes, no service time
	IgnoreCE  bool // turns ACK_On_ECN, by which a marked packet is acknowledged at once, off
}

// RTOConfig is the retransmission timer. A packet is held lost when it is neither acknowledged
// nor refused for the timeout after it was last sent; the timeout of a packet doubles with
// each expiry.
type RTOConfig struct {
	// Init is RTO_Init_Time; 0: 1 ms. With Adaptive it holds until there is an RTT sample, and 0 is
	// the larger of Floor and four base RTTs.
	Init       Time
	Max        Time // cap of the doubled timeout; 0: 8 s
	Adaptive   bool // the timeout is the larger of Floor and four smoothed RTTs
	Floor      Time // least adaptive timeout, at least base RTT and worst queueing; 0: two base RTTs
	MaxRetries int  // Max_RTO_Retx_Cnt: expiries a packet survives; 0: 5; negative: any number
}

// UnexpectedConfig bounds what a receive queue keeps of messages that came before their receive.
type UnexpectedConfig struct {
	Messages int // kept or put off at most, by endpoint; 0: 64; negative: none, all are refused with NO_MATCH
	Bytes    int // of the longest that is kept; a longer one is put off, if it is deferrable, or refused. 0: 8192; negative: 0
}

// RetryConfig is what a sender does when a target has no receive for its message: the whole message is sent again.
type RetryConfig struct {
	Time Time // until the first repetition, plus up to as much again at random; doubles each time. 0: 50 ms
	Max  int  // repetitions; 0: 5; negative: any number
}

// NACKConfig is the reaction to a target that is short of something. A trimmed packet is sent
// again at once and any number of times: congestion is not an error.
type NACKConfig struct {
	RetxTime   Time // NACK_Retx_Time: pause of the context; 0: 1 ms
	MaxRetries int  // Max_NACK_Retx_Cnt: refusals a packet survives; 0: 5; negative: any number
	// SilentROD, of a target: what is out of order in an ordered context is dropped without ROD_OOO, and the source's timer
	// recovers. For sources that send the refused packet again instead of going back, as the reference provider's do.
	SilentROD bool
}

// FastLossConfig infers losses from what acknowledgements say of later packets. Off by default: NACKs,
// probes and the timer alone find losses; with trimming that is enough.
type FastLossConfig struct {
	On         bool
	Rule       LossRule
	Factor     float64 // ByOrder; 0: 1.5
	MinPackets int     // ByOrder; 0: 5
	Window     Time    // ByTime; 0: one base RTT, as much as queues of one bandwidth-delay product can set two ways apart
}

// A LossRule says what makes a later packet prove that an earlier one is lost.
type LossRule uint8

const (
	// ByOrder counts (SLEEK): when at least min(Factor * window, 1.5 BDP) bytes, and MinPackets packets, lie
	// beyond a gap, what is missing and older than a smoothed RTT is held lost, each packet once per
	// recovery.
	ByOrder LossRule = iota
	// ByTime waits (RACK, RFC 8985): a packet that left before one that was acknowledged is held lost a smoothed
	// RTT and Window after it was sent.
	ByTime
	// ByEntropy compares packets of one entropy value, which take one way and keep their order where switches
	// route by hash: one that was acknowledged proves those sent before it lost.
	ByEntropy
)

// TailProbeConfig sends a PROBE when acknowledgements stay away. If its answer took less than
// TargetDelay over the base RTT, the network is not congested, and what was sent two TargetDelays
// and a base RTT ago or earlier and is missing is held lost. Off by default.
type TailProbeConfig struct {
	On          bool
	After       Time // silence before a probe when nothing is queued, three times as long otherwise at least 3 base RTTs; 0: base RTT + TargetDelay
	Retry       Time // from one probe to the next; 0: 5 base RTTs
	TargetDelay Time // 0: 3/4 base RTT with trimming, else one base RTT
	MaxProbes   int  // without progress in between; 0: 5 (Max_Tail_Loss_Retx)
}

// Limits of fields.
const (
	maxPayloadMTU = 1<<14 - 1
	maxPDCs       = 1 << 8
	maxTargets    = 1<<15 - 1
	maxMPR        = 255
)

// Validate returns what is wrong with c, naming the field; nil if nothing is.
func (c *Config) Validate() error {
	return errors.Join(
		inRange("PayloadMTU", int64(c.PayloadMTU), 0, maxPayloadMTU),
		inRange("Hosts", int64(c.Hosts), 0, 1<<32),
		inRange("DataClass", int64(c.DataClass), 0, 15),
		inRange("ControlClass", int64(c.ControlClass), 0, 15),
		inRange("NominalOverhead", int64(c.NominalOverhead), -1, 1<<12),
		inRange("NominalMTU", c.NominalMTU, 0, 1<<20),
		inRange("LineRateBps", c.LineRateBps, 0, 1<<50),
		inRange("PDCs", int64(c.PDCs), 0, maxPDCs),
		inRange("MPR", int64(c.MPR), 0, maxMPR),
		inRange("ACK.Trigger", int64(c.ACK.Trigger), 0, 1<<30),
		inRange("ACK.MinAdd", int64(c.ACK.MinAdd), 0, 1<<30),
		inRange("FastLoss.MinPackets", int64(c.FastLoss.MinPackets), 0, 1<<20),
		inRange("MaxTargets", int64(c.MaxTargets), 0, maxTargets),
		inRange("MaxResponses", int64(c.MaxResponses), 0, 1<<20),
		inRange("MaxAnswers", int64(c.MaxAnswers), 0, 1<<24),
		inRange("JobID", int64(c.JobID), 0, 1<<24-1),
		inRange("PIDOnFEP", int64(c.PIDOnFEP), 0, 1<<12-1),
		inRange("ResourceIndex", int64(c.ResourceIndex), 0, 1<<12-1),
		inRange("ResourceIndex plus Resources", int64(c.ResourceIndex)+int64(c.Resources), 0, 1<<12),
		inRange("Resources", int64(c.Resources), 0, 1<<12),
		inRange("Unexpected.Messages", int64(c.Unexpected.Messages), -1<<16, 1<<16),
		inRange("Unexpected.Bytes", int64(c.Unexpected.Bytes), -1<<30, 1<<30),
		inRange("MaxACKData", int64(c.MaxACKData), -1<<16, maxAckData),
		inRange("MaxReadAhead", int64(c.MaxReadAhead), 0, 1<<20),
		notNegative("MessageRetry.Time", c.MessageRetry.Time), notNegative("ResponseTime", c.ResponseTime),
		notNegative("BaseRTT", c.BaseRTT), notNegative("PacingSlack", c.PacingSlack), notNegative("ClearTime", c.ClearTime), notNegative("IdleClose", c.IdleClose),
		notNegative("TargetIdle", c.TargetIdle), notNegative("SegmentLifetime", c.SegmentLifetime),
		notNegative("RTO.Init", c.RTO.Init), notNegative("RTO.Max", c.RTO.Max), notNegative("RTO.Floor", c.RTO.Floor),
		notNegative("NACK.RetxTime", c.NACK.RetxTime), notNegative("TailProbe.After", c.TailProbe.After),
		notNegative("TailProbe.Retry", c.TailProbe.Retry), notNegative("TailProbe.TargetDelay", c.TailProbe.TargetDelay),
		inRange("FastLoss.Rule", int64(c.FastLoss.Rule), 0, int64(ByEntropy)), notNegative("FastLoss.Window", c.FastLoss.Window),
		c.selfInHosts(), c.factor(), c.algorithms(),
	)
}

func inRange(field string, v, low, high int64) error {
	if v < low || v > high {
		return fmt.Errorf("core.Config.%s is %d; expected %d to %d", field, v, low, high)
	}
	return nil
}

func notNegative(field string, t Time) error {
	if t < 0 {
		return fmt.Errorf("core.Config.%s is %v; expected 0 or more", field, t)
	}
	return nil
}

func (c *Config) selfInHosts() error {
	if c.Hosts > 0 && int64(c.Self) >= int64(c.Hosts) {
		return fmt.Errorf("core.Config.Self is %d; expected less than Hosts, %d", c.Self, c.Hosts)
	}
	return nil
}

func (c *Config) factor() error {
	if !(c.FastLoss.Factor >= 0 && c.FastLoss.Factor <= 100) {
		return fmt.Errorf("core.Config.FastLoss.Factor is %v; expected 0 to 100", c.FastLoss.Factor)
	}
	return nil
}

func (c *Config) algorithms() error {
	var errs []error
	if c.NewController == nil {
		if _, _, err := congestion.Registry.Make("nscc", nil); err != nil {
			errs = append(errs, fmt.Errorf("core.Config.NewController: %w", err))
		}
	} else if c.Telemetry == nil && congestion.NeedsTelemetry(c.NewController) {
		errs = append(errs, errors.New("the congestion controller works from in-band telemetry, and nobody stamps packets here; expected another controller, or an emulated fabric with class.telemetry=true"))
	}
	if c.NewSprayer == nil {
		if _, _, err := spray.Registry.Make("reps", nil); err != nil {
			errs = append(errs, fmt.Errorf("core.Config.NewSprayer: %w", err))
		}
	}
	return errors.Join(errs...)
}

// orDefault sets *field to the default if it is zero.
func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// withDefaults returns a validated c with every zero field that stands for a default replaced.
func (c Config) withDefaults() Config {
	orDefault(&c.PayloadMTU, 4096)
	orDefault(&c.NominalOverhead, 40)
	c.NominalOverhead = max(c.NominalOverhead, 0)
	orDefault(&c.LineRateBps, 100e9)
	orDefault(&c.BaseRTT, 12*instant.Microsecond)
	orDefault(&c.PDCs, 1)
	orDefault(&c.MPR, 8)
	orDefault(&c.ACK.Trigger, 16384)
	orDefault(&c.ACK.MinAdd, 1024)
	if !c.RTO.Adaptive {
		orDefault(&c.RTO.Init, instant.Millisecond)
	}
	orDefault(&c.RTO.Max, 8*instant.Second)
	orDefault(&c.RTO.MaxRetries, 5)
	orDefault(&c.NACK.RetxTime, instant.Millisecond)
	orDefault(&c.NACK.MaxRetries, 5)
	orDefault(&c.FastLoss.Factor, 1.5)
	orDefault(&c.FastLoss.MinPackets, 5)
	orDefault(&c.TailProbe.MaxProbes, 5)
	orDefault(&c.ClearTime, instant.Millisecond)
	orDefault(&c.SegmentLifetime, instant.Second)
	orDefault(&c.MaxTargets, maxTargets)
	orDefault(&c.MaxResponses, 1024)
	orDefault(&c.MaxAnswers, 16384)
	orDefault(&c.Resources, 1)
	orDefault(&c.Unexpected.Messages, 64)
	orDefault(&c.Unexpected.Bytes, 8192)
	orDefault(&c.MessageRetry.Time, 50*instant.Millisecond)
	orDefault(&c.MessageRetry.Max, 5)
	orDefault(&c.MaxACKData, maxAckData)
	if c.NewController == nil {
		c.NewController, _, _ = congestion.Registry.Make("nscc", nil)
	}
	if c.NewSprayer == nil {
		c.NewSprayer, _, _ = spray.Registry.Make("reps", nil)
	}
	c.requestSize = wire.RequestSize
	path := congestion.Path{LineRateBps: c.LineRateBps, BaseRTT: c.BaseRTT, MTU: int64(c.PayloadMTU), MSS: int64(c.PayloadMTU), Trimming: c.Trimming}
	if credited, ok := c.NewController(path).(congestion.Credited); ok {
		c.requestSize, c.grantsInAcks = wire.RequestCCSize, credited.GrantsInAcks()
	}
	return c
}

// maxAckData is the longest answer that an ACK carries, in bytes: the default of Max_ACK_Data_Size.
const maxAckData = 16

// readAhead is how many answers with data a context asks for before they come.
func (c *Config) readAhead() uint32 {
	if c.MaxReadAhead > 0 {
		return uint32(c.MaxReadAhead)
	}
	path := congestion.Path{LineRateBps: c.LineRateBps, BaseRTT: c.BaseRTT}
	return uint32(min(max(4, 2*path.BDP()/int64(c.PayloadMTU)), 1<<20))
}

// udpHeader counts in the nominal size of a packet.
const udpHeader = 8

// units returns the size by which congestion control counts a packet, in units of 256 bytes,
// rounded up: "[bytes by] nominal size (UDP length + 40)", UE Specification, section 3.6.13.
func (c *Config) units(header, payload int) uint32 {
	return uint32(udpHeader+header+payload+c.NominalOverhead+wire.BytesUnit-1) / wire.BytesUnit
}

// baseRTT returns the idle round trip between an endpoint and a peer.
func (c *Config) baseRTT(self, peer Addr) Time {
	if c.BaseRTTOf != nil {
		if t := c.BaseRTTOf(self, peer); t > 0 {
			return t
		}
	}
	return c.BaseRTT
}
