package rocev2

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// An Env is what a Preset needs to know of the fabric.
type Env struct {
	LineRateBps int64 // of the host's link
	BaseRTT     Time  // idle round trip of the longest path
	PayloadMTU  int64 // payload bytes of a full packet: the path MTU
	WireMTU     int64 // bytes of a full packet on the wire, everything included
	Lossless    bool  // the data class has PFC or link credits
	Data        core.Class
	Control     core.Class
	Ports       int // rails; 0: 1
	Seed        uint64
	Remote      func(core.Addr) core.Memory // nil: payloads are virtual
}

func (e Env) config() Config {
	return Config{
		Path: congestion.Path{LineRateBps: e.LineRateBps, BaseRTT: e.BaseRTT, MTU: e.WireMTU, MSS: e.PayloadMTU, Seed: e.Seed},
		Seed: e.Seed, Data: e.Data, Control: e.Control, Ports: e.Ports, Remote: e.Remote,
	}
}

// A mode is one set of rules under a name.
type mode struct {
	name     string
	doc      string
	adaptive bool // wants switches to route adaptively
	apply    func(*Config, Env)
}

// Names of the modes and of the ways to recover from loss.
const (
	ModeStandard   = "standard"
	ModeHardware   = "hardware"
	ModeFavourable = "favourable"
	ModeAdaptive   = "adaptive"
	LossGoBackN    = "gobackn"
	LossSelective  = "selective"
)

// Modes and Losses list the names, in the order of documents.
var (
	Modes  = []string{ModeStandard, ModeHardware, ModeFavourable, ModeAdaptive}
	Losses = []string{LossGoBackN, LossSelective}
)

// retryBudget is how long the modes with short timers keep trying: as long as the standard's seven
// timeouts of code 14. A short timer that also gave up seven times as early would make a link failure fatal
// that the long timer survives.
const retryBudget = 7 * 67108864 * instant.Nanosecond

// probeAfter is where the modes with short timers begin to ask with one packet: the standard would have given up by
// count. Sending a whole window into a dead path every timeout until the budget ends would fill the others.
const probeAfter = 7

// modes holds each mode's rules. docs/ROCE.md gives the reasons and sources.
var modes = [...]mode{
	{name: ModeStandard, doc: "the rules of the InfiniBand specification and of the RoCE v2 annex, defaults of verbs", apply: func(c *Config, _ Env) {
		// Everything at the default of Config: AckReq on the last packet and every 64th, timeout code 14,
		// seven retries, no window, CNPs at most every 50 us.
	}},
	{name: ModeHardware, doc: "what NICs are known to do: CNP with each NAK, recovery outside the fast path, slow restart, adaptive timer", apply: func(c *Config, _ Env) {
		c.AckEvery = 16
		c.CNPInterval = 4 * instant.Microsecond
		c.CNPOnNAK = true
		c.Stall = 20 * instant.Microsecond
		c.SlowRestart = 16
		c.AdaptiveFirst = 4096 * instant.Nanosecond << 10
		c.RetryFor = retryBudget
	}},
	{name: ModeFavourable, doc: "every doubt decided for RoCE: instant rewind, ACK per packet, short fixed timer, a window against self-made queues", apply: func(c *Config, e Env) {
		c.favour(e)
		c.MaxOutstanding = c.bdpPackets() * 3 / 2
	}},
	{name: ModeAdaptive, doc: "switches route adaptively, packets are placed out of order, a gap is a loss only when it persists; otherwise favourable", adaptive: true, apply: func(c *Config, e Env) {
		c.favour(e)
		c.Placement = OutOfOrder
		c.ReorderTimer = 4 * e.BaseRTT
	}},
}

// favour sets what the favourable and the adaptive mode share.
func (c *Config) favour(e Env) {
	c.AckReqEvery, c.AckEvery = 1, 1
	c.Timeout = max(320*instant.Microsecond, 8*e.BaseRTT)
	if e.Lossless { // there, nothing heard means paused, not lost
		c.Timeout = max(instant.Millisecond, 8*e.BaseRTT)
	}
	c.RetryFor, c.ProbeAfter = retryBudget, probeAfter
}

// selective turns the configuration of a mode into selective retransmission. In-order modes become IRN: no
// reorder timer, BDP flow control, two timeouts, an ACK or NAK per packet. The hardware mode keeps its CNPs
// with NAKs and its timers, and has room for 128 packets behind a gap.
func (c *Config) selective(m *mode, e Env) {
	c.Loss, c.Placement = Selective, OutOfOrder
	switch m.name {
	case ModeAdaptive:
		return
	case ModeHardware:
		c.ReorderWindow = 128
	default:
		c.Timeout, c.TimeoutLow, c.FewInFlight = max(320*instant.Microsecond, 8*e.BaseRTT), max(100*instant.Microsecond, 2*e.BaseRTT), 3
		if e.Lossless { // IRN runs without timers there; then a damaged last packet would never be repeated
			c.Timeout, c.TimeoutLow = max(instant.Millisecond, 8*e.BaseRTT), 0
		}
		c.RetryFor, c.ProbeAfter = retryBudget, probeAfter
	}
	c.AckReqEvery, c.AckEvery = 1, 1
	c.MaxOutstanding = c.bdpPackets()
	c.Stall, c.SlowRestart = 0, 0
}

// Preset returns the rules of a mode ("standard", "hardware", "favourable", "adaptive") with a way to recover from
// loss ("gobackn", "selective"; empty means gobackn). Fields may be changed before New sees them.
func Preset(name, loss string, e Env) (Config, error) {
	m, err := lookup(name)
	if err != nil {
		return Config{}, err
	}
	c := e.config()
	m.apply(&c, e)
	switch loss {
	case LossGoBackN, "":
	case LossSelective:
		c.selective(m, e)
	default:
		return Config{}, fmt.Errorf("rocev2: unknown way to recover from loss %q; expected %s", loss, strings.Join(Losses, " or "))
	}
	return c, nil
}

func lookup(name string) (*mode, error) {
	for i := range modes {
		if modes[i].name == name {
			return &modes[i], nil
		}
	}
	return nil, fmt.Errorf("rocev2: unknown mode %q; expected one of %s", name, strings.Join(Modes, ", "))
}

// WantsAdaptiveRouting tells whether a mode asks switches to spread the packets of a queue pair.
func WantsAdaptiveRouting(name string) bool {
	m, err := lookup(name)
	return err == nil && m.adaptive
}

// WantsLossless tells whether a mode is meant to run over PFC: all but selective retransmission on one path.
func WantsLossless(name, loss string) bool { return loss != LossSelective || name == ModeAdaptive }

// Doc returns the one sentence about a mode, empty for an unknown one.
func Doc(name string) string {
	m, err := lookup(name)
	if err != nil {
		return ""
	}
	return m.doc
}
