package protocols

import (
	"fmt"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	protocol.Registry.Register(param.Entry[protocol.Protocol]{
		Name: "rocev2", Doc: "RoCE v2: reliable connections on one path each, go-back-N or selective repeat, over PFC or a lossy fabric",
		Source: "IBTA Volume 1 and RoCE v2 annex; rules of every mode in docs/ROCE.md; class: marking as vendors set it at 100 Gbit/s, not scaled (scenario grid varies it), PFC at an eighth of the free buffer",
		Params: []param.Param{
			{Name: "mode", Kind: param.Word, Default: "standard", OneOf: rocev2.Modes, Doc: "whose rules: the specification's, what NICs do, every doubt decided for RoCE, or adaptive routing with out-of-order placement"},
			{Name: "loss", Kind: param.Word, Default: "gobackn", OneOf: rocev2.Losses, Doc: "what is sent again; selective is IRN, or selective repeat with mode=adaptive"},
			{Name: "qps", Kind: param.Int, Default: "1", Min: 1, Max: 256, Doc: "queue pairs for each destination, over which messages are striped (1: what an application of verbs opens); not scaled"},
			{Name: "stripe", Kind: param.Bytes, Default: "0", Doc: "a message is cut into no more parts than it has this many bytes; 0: one packet. Larger than all messages: each goes to one queue pair, in turn; in bdp it scales, in bytes not", Max: 1 << 50},
			{Name: "congestion", Kind: param.Choice, Default: "dcqcn", Of: &congestion.Registry, Doc: "congestion control of a queue pair"},
			{Name: "timeout", Kind: param.Int, Default: "", Min: 0, Max: 31, Doc: "local ACK timeout code n: 4.096 us x 2^n, 0: none; absent: as the mode says: code 14, the default of verbs, which is not scaled, or at least eight base RTTs"},
			{Name: "retries", Kind: param.Int, Default: "", Min: -1, Max: 1000, Doc: "retries without progress before the queue pair fails, 1 or more, -1: never; absent: as the mode says, 7 (verbs) or as long as seven timeouts of code 14; not scaled"},
			{Name: "ackEvery", Kind: param.Int, Default: "", Min: 0, Max: 1024, Doc: "the responder acknowledges at least every n-th packet; absent: as the mode says; not scaled"},
			{Name: "cnpOnNak", Kind: param.Word, Default: "mode", OneOf: []string{"mode", "true", "false"}, Doc: "every NAK is accompanied by a CNP, as NICs do"},
			{Name: "cnpInterval", Kind: param.Duration, Min: 1, Max: float64(instant.Second), Doc: "least time between two CNPs of a queue pair; absent: as the mode says, 50us (DCQCN, SIGCOMM 2015) or 4us (NICs), not scaled; 1ps: one for every marked packet, as the ns-3 models of HPCC and ConWeave have it"},
			{Name: "acks", Kind: param.Word, Default: "control", OneOf: []string{"control", "data"}, Doc: "class of ACK and NAK: ahead of all data, or in line with it (and paused with it)"},
			{Name: "window", Kind: param.Bytes, Default: "", Doc: "bytes a queue pair may have outstanding; absent: as the mode says, none or 1.5 BDPs"},
			{Name: "firstPSN", Kind: param.Int, Default: "", Min: 1, Max: 1<<24 - 1, Doc: "first PSN of every queue pair, to see one wrap; absent: drawn; not scaled"},
		},
		New: func(v param.Values) (protocol.Protocol, error) { return newRoCE(v) },
	})
}

type roce struct {
	v          param.Values
	mode, loss string
	controller congestion.Maker
}

func newRoCE(v param.Values) (*roce, error) {
	r := &roce{v: v, mode: v.Word("mode"), loss: v.Word("loss")}
	err := checkRetries(v)
	if err != nil {
		return nil, err
	}
	if v.Has("timeout") && v.Int("timeout") == 0 && v.Word("acks") == "control" {
		return nil, fmt.Errorf("timeout: 0 (none) needs acks=data: the class of acknowledgements that go ahead drops packets also where that of data does not, and nobody would miss one")
	}
	name, given := v.Choice("congestion")
	if r.controller, err = tried(&congestion.Registry, congestion.Try, name, given); err != nil {
		return nil, err
	}
	if congestion.NeedsCredit(r.controller) {
		return nil, fmt.Errorf("congestion: %s needs a destination that grants credit, which RoCE v2 has no messages for; expected another", name)
	}
	if congestion.NeedsTelemetry(r.controller) {
		return nil, fmt.Errorf("congestion: %s works from in-band telemetry, which acknowledgements of RoCE v2 do not bring back; expected another, or protocol uet", name)
	}
	return r, nil
}

func (r *roce) outOfOrder() bool {
	return r.mode == rocev2.ModeAdaptive || r.loss == rocev2.LossSelective
}

// ClassDefaults are lossless with the vendor-like marking thresholds of 100 Gbit/s where the mode is
// meant for PFC; IRN runs on a dropping fabric.
func (r *roce) ClassDefaults() map[string]string {
	class := map[string]string{"ecnMin": "400KB", "ecnMax": "1600KB", "ecnP": "0.2", "flowControl": "pfc", "alpha": "0.125"}
	if !rocev2.WantsLossless(r.mode, r.loss) {
		class["flowControl"], class["alpha"] = "none", "1"
	}
	return class
}

func (r *roce) Routing() string {
	if rocev2.WantsAdaptiveRouting(r.mode) {
		return "adaptive"
	}
	return "ecmp"
}

func (r *roce) TransportBytes() int64 {
	if r.outOfOrder() {
		return wire.BTHSize + wire.RETHSize // every packet says where it belongs
	}
	return wire.BTHSize
}

func (r *roce) Proto() core.Proto { return core.ProtoRoCE }

func (r *roce) NewHost(self core.Addr, env protocol.Env) (core.Host, error) {
	c, err := rocev2.Preset(r.mode, r.loss, rocev2.Env{
		LineRateBps: env.LineRateBps, BaseRTT: env.BaseRTT, PayloadMTU: env.PayloadMTU, WireMTU: env.WireMTU,
		Lossless: env.Lossless, Data: env.Data, Control: env.Control, Seed: env.Seed, Remote: env.Memory,
	})
	if err != nil {
		return nil, err
	}
	c.Make = r.controller
	if r.v.Word("acks") == "data" {
		c.Control = c.Data
	}
	c.QPs, c.Stripe = int(r.v.Int("qps")), r.v.Bytes("stripe", env.BDP)
	if r.v.Has("timeout") {
		c.Timeout, c.AdaptiveFirst = wire.AckTimeout(uint8(r.v.Int("timeout"))), 0
	}
	if r.v.Has("retries") {
		c.RetryCount, c.RetryFor = int(r.v.Int("retries")), 0
	}
	if r.v.Has("ackEvery") {
		c.AckEvery = int(r.v.Int("ackEvery"))
	}
	if r.v.Has("cnpInterval") {
		c.CNPInterval = r.v.Time("cnpInterval")
	}
	if r.v.Has("window") {
		c.MaxOutstanding = int(max(1, r.v.Bytes("window", env.BDP)/env.PayloadMTU))
	}
	if r.v.Has("firstPSN") {
		c.FirstPSN = wire.PSN(r.v.Int("firstPSN"))
	}
	if word := r.v.Word("cnpOnNak"); word != "mode" {
		c.CNPOnNAK = word == "true"
	}
	return rocev2.New(self, c)
}

// GoBackWindow is the window of a queue pair, or what it sends in a round trip if it has none.
func (r *roce) GoBackWindow(env protocol.Env) int64 {
	if r.loss != rocev2.LossGoBackN {
		return 0
	}
	packets := max(1, env.BDP/env.WireMTU)
	if r.v.Has("window") {
		packets = min(packets, r.v.Bytes("window", env.BDP)/env.PayloadMTU)
	}
	return max(1, packets)
}

func queuePairs(n int64) string {
	if n == 1 {
		return "1 queue pair"
	}
	return fmt.Sprintf("%d queue pairs", n)
}

func (r *roce) Rules() []string {
	rules := []string{
		fmt.Sprintf("RoCE v2, mode %s: %s", r.mode, rocev2.Doc(r.mode)),
		fmt.Sprintf("loss recovery %s, %s for each destination, congestion control %s", r.loss, queuePairs(r.v.Int("qps")), r.v.Word("congestion")),
		"one entropy value for each queue pair; queue pairs are connected before the run, without cost; all rules and sources: docs/ROCE.md",
	}
	if r.outOfOrder() {
		rules = append(rules, "packets are placed out of order; each carries a RETH")
	}
	return rules
}
