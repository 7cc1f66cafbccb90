// Package protocols enters the transports of this project among the protocols of comparisons: one file
// each.
package protocols

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
	"github.com/weft-transport/weft/transport/wire"
)

func init() {
	protocol.Registry.Register(param.Entry[protocol.Protocol]{
		Name: "uet", Doc: "Ultra Ethernet Transport: sprayed packets, selective retransmission, sender-based congestion control",
		Source: "UE Specification 1.0.x, sections 3.5 and 3.6; class as in 3.6.17, in BDPs",
		Params: []param.Param{
			{Name: "mode", Kind: param.Word, Default: "rud", OneOf: []string{"rud", "rod"}, Doc: "rud: unordered packets, sprayed; rod: ordered packets on one entropy value, go-back-N"},
			{Name: "congestion", Kind: param.Choice, Default: "nscc", Of: &congestion.Registry, Doc: "congestion control"},
			{Name: "spray", Kind: param.Choice, Default: "reps", Of: &spray.Registry, Doc: "choice of entropy values; rod does not use it"},
			{Name: "rto", Kind: param.Word, Default: "tuned", OneOf: []string{"tuned", "spec"}, Doc: "spec: RTO_Init_Time of 1 ms; tuned: adaptive, at least the base RTT and full queues on the longest way, at least two base RTTs, with which it scales"},
			{Name: "rtoMax", Kind: param.Duration, Default: "", Min: 1, Max: float64(8 * instant.Second), Doc: "what the timeout of a packet doubles up to, with rto=tuned at least its floor, so that 1us keeps it there, as htsim does; absent: 8s; not scaled"},
			{Name: "retries", Kind: param.Int, Default: "5", Min: -1, Max: 1000, Doc: "timeouts a packet survives (Max_RTO_Retx_Cnt), 1 or more; -1: any number; not scaled"},
			{Name: "fastLoss", Kind: param.Bool, Default: "true", Doc: "false: loss=nack, where loss is not given"},
			{Name: "loss", Kind: param.Word, Default: "", OneOf: []string{"order", "time", "entropy", "nack", "rto"}, Doc: "what holds a packet lost besides a NACK, a probe and the timer; order: lossFactor windows of later packets arrived (SLEEK); time: one sent later arrived, and a round trip and reorder have passed (RACK, RFC 8985); entropy: one sent later on the same entropy value arrived; nack: nothing; rto: nor do NACKs, since packets are not trimmable; absent: order"},
			{Name: "lossFactor", Kind: param.Float, Default: "1.5", Min: 0.01, Max: 100, Doc: "for loss=order: windows that must have arrived beyond a gap, at most 1.5 bandwidth-delay products (SLEEK); scales with the window"},
			{Name: "lossPackets", Kind: param.Int, Default: "5", Min: 1, Max: 1 << 20, Doc: "for loss=order: packets that must have arrived beyond a gap in any case (SLEEK); not scaled: it is for windows of a few packets"},
			{Name: "reorder", Kind: param.Duration, Default: "", Min: 1, Max: float64(instant.Second), Doc: "for loss=time: how much later than others a packet may come; absent: one base RTT, what queues of one bandwidth-delay product can set two ways apart"},
			{Name: "tailProbe", Kind: param.Bool, Default: "true", Doc: "a probe asks for the state of the tail when acknowledgements stay away"},
			{Name: "pdcs", Kind: param.Int, Default: "1", Min: 1, Max: 64, Doc: "packet delivery contexts for each destination (ours; the specification leaves it open); not scaled"},
			{Name: "mpr", Kind: param.Int, Default: "8", Min: 1, Max: 255, Doc: "packets accepted beyond the first missing one, in units of 128 (Default_MPR); not scaled: 1024 packets of 4 KiB are ten BDPs at 400 Gbit/s and 8.5 us, and ought to exceed one"},
			{Name: "ackTrigger", Kind: param.Bytes, Default: "16KiB", Doc: "bytes received that cause an acknowledgement (ACK_Gen_Trigger); not scaled: four full packets at any rate; smaller windows ask by themselves", Max: 1 << 20},
			{Name: "ackPerPacket", Kind: param.Bool, Default: "false", Doc: "acknowledge every packet (Enb_ACK_Per_Pkt)"},
			{Name: "baseRTT", Kind: param.Word, Default: "pair", OneOf: []string{"pair", "network"}, Doc: "what congestion control starts from: the idle round trip to the destination, or the longest of the network"},
			{Name: "count", Kind: param.Word, Default: "spec", OneOf: []string{"spec", "wire"}, Doc: "size of a packet for congestion control: spec: UDP length and 40 bytes, in units of 256; wire: its size on the wire, as simulators count"},
			{Name: "startPSN", Kind: param.Int, Default: "", Min: 1, Max: 1<<32 - 1, Doc: "first PSN of every context, to see one wrap; absent: drawn; not scaled"},
		},
		New: func(v param.Values) (protocol.Protocol, error) { return newUET(v) },
	})
}

type uet struct {
	v          param.Values
	controller congestion.Maker
	sprayer    spray.Maker
}

func newUET(v param.Values) (*uet, error) {
	u := &uet{v: v}
	err := errors.Join(checkRetries(v), u.checkLoss())
	if err != nil {
		return nil, err
	}
	name, given := v.Choice("congestion")
	if u.controller, err = tried(&congestion.Registry, congestion.Try, name, given); err != nil {
		return nil, err
	}
	name, given = v.Choice("spray")
	if u.sprayer, err = tried(&spray.Registry, spray.Try, name, given); err != nil {
		return nil, err
	}
	return u, nil
}

// tried makes an algorithm of which another of the same parameters has been tried: a trial may leave something behind in
// what the contexts of one Maker share.
func tried[M any](r *param.Registry[M], try func(M) error, name string, given map[string]string) (made M, err error) {
	trial, _, err := r.Make(name, given)
	if err != nil {
		return trial, err
	}
	if err := try(trial); err != nil {
		return made, fmt.Errorf("%s %s: %w", r.Noun, name, err)
	}
	made, _, err = r.Make(name, given)
	return made, err
}

// checkRetries refuses 0, which the protocols take for their default.
func checkRetries(v param.Values) error {
	if v.Has("retries") && v.Int("retries") == 0 {
		return fmt.Errorf("retries: 0 would give up at the first loss; expected 1 or more, or -1 for any number")
	}
	return nil
}

// loss is the rule by which packets are held lost.
func (u *uet) loss() string {
	switch {
	case u.v.Has("loss"):
		return u.v.Word("loss")
	case u.v.Bool("fastLoss"):
		return "order"
	}
	return "nack"
}

func (u *uet) checkLoss() error {
	if loss := u.v.Word("loss"); loss != "" && loss != "nack" && loss != "rto" && !u.v.Bool("fastLoss") {
		return fmt.Errorf("loss: %s contradicts fastLoss=false, which is loss=nack; expected one of the two", loss)
	}
	return nil
}

// lossRules are the rules that infer losses from later packets.
var lossRules = map[string]core.LossRule{"order": core.ByOrder, "time": core.ByTime, "entropy": core.ByEntropy}

// ClassDefaults are the switch settings that NSCC expects (UE Specification 3.6.17).
// With receiver credits the last hop, which they look after, does not mark; where the controller works from
// telemetry, switches report.
func (u *uet) ClassDefaults() map[string]string {
	class := map[string]string{"queue": "1bdp", "ecnMin": "0.2bdp", "ecnMax": "0.8bdp", "ecnP": "1", "trim": "true", "flowControl": "none"}
	if congestion.NeedsCredit(u.controller) {
		class["ecnLastHop"] = "false"
	}
	if congestion.NeedsTelemetry(u.controller) {
		class["telemetry"] = "true"
	}
	return class
}

func (u *uet) Routing() string { return "ecmp" }

// TransportBytes is a request header, with a credit target where there are credits, and a standard semantic header.
func (u *uet) TransportBytes() int64 {
	if congestion.NeedsCredit(u.controller) {
		return wire.RequestCCSize + wire.StandardSize
	}
	return wire.RequestSize + wire.StandardSize
}

func (u *uet) Proto() core.Proto { return core.ProtoUET }

func (u *uet) NewHost(self core.Addr, env protocol.Env) (core.Host, error) {
	family, err := u.family(env)
	if err != nil {
		return nil, err
	}
	e, err := family.New(self)
	if err != nil || u.v.Word("mode") == "rud" {
		return e, err
	}
	return ordered{e}, nil
}

// family returns what the endpoints of a run share.
func (u *uet) family(env protocol.Env) (*core.Family, error) {
	if env.Shared == nil {
		return core.NewFamily(u.config(env))
	}
	if f, made := (*env.Shared).(*core.Family); made {
		return f, nil
	}
	f, err := core.NewFamily(u.config(env))
	*env.Shared = f
	return f, err
}

func (u *uet) config(env protocol.Env) core.Config {
	c := core.Config{
		Hosts: env.Hosts, DataClass: env.Data, ControlClass: env.Control, Trimming: env.Trimming,
		PayloadMTU: int(env.PayloadMTU), LineRateBps: env.LineRateBps, BaseRTT: env.BaseRTT,
		NewController: u.controller, Telemetry: env.Telemetry, NewSprayer: u.sprayer,
		PDCs: int(u.v.Int("pdcs")), MPR: int(u.v.Int("mpr")),
		ACK:       core.ACKConfig{Trigger: int(max(1, u.v.Bytes("ackTrigger", env.BDP))), PerPacket: u.v.Bool("ackPerPacket")},
		TailProbe: core.TailProbeConfig{On: u.v.Bool("tailProbe")},
		Remote:    env.Memory, Seed: env.Seed,
	}
	c.FastLoss = core.FastLossConfig{Factor: u.v.Float("lossFactor"), MinPackets: int(u.v.Int("lossPackets")), Window: u.v.Time("reorder")}
	c.FastLoss.Rule, c.FastLoss.On = lossRules[u.loss()]
	if u.loss() == "rto" {
		c.Trimming = false
	}
	if u.v.Word("baseRTT") == "pair" {
		c.BaseRTTOf = env.PairRTT
	}
	if u.v.Word("count") == "wire" {
		c.NominalMTU = env.WireMTU
	}
	if u.v.Has("startPSN") {
		c.StartPSN = uint32(u.v.Int("startPSN"))
	}
	c.RTO.MaxRetries = int(u.v.Int("retries"))
	if u.v.Word("rto") == "tuned" {
		c.RTO.Adaptive, c.RTO.Floor = true, rtoFloor(env)
	}
	if u.v.Has("rtoMax") {
		c.RTO.Max = max(u.v.Time("rtoMax"), c.RTO.Floor)
	}
	return c
}

// ordered sends every message in reliable ordered delivery.
type ordered struct{ *core.Endpoint }

func (o ordered) Send(now instant.Time, m core.Message) error {
	m.Mode = core.ROD
	return o.Endpoint.Send(now, m)
}

// GoBackWindow is the largest window of an ordered context.
func (u *uet) GoBackWindow(env protocol.Env) int64 {
	if u.v.Word("mode") == "rud" {
		return 0
	}
	return max(1, env.BDP*3/2/env.WireMTU)
}

// rtoFloor is the longest that a packet can take when nothing is lost: the base RTT, and a full
// queue at every hop of the longest way; at least two base RTTs. Where packets may wait for pauses, or
// nothing but the switch's memory limits a queue, it is the specification's RTO_Init_Time.
func rtoFloor(env protocol.Env) instant.Time {
	if env.Lossless || env.QueueBytes == 0 {
		return max(2*env.BaseRTT, instant.Millisecond)
	}
	queueing := float64(env.QueueBytes*8) / float64(env.LineRateBps) * float64(env.MaxHops)
	return max(2*env.BaseRTT, env.BaseRTT+instant.Time(queueing*float64(instant.Second)))
}

// lossWords name who may declare a loss; a probe may where there are any.
var lossWords = map[string]string{
	"order":   "a NACK, the out-of-order count, a probe or the timer",
	"time":    "a NACK, the time since a packet that was overtaken left, a probe or the timer",
	"entropy": "a NACK, a later packet of the same entropy value, a probe or the timer",
	"nack":    "a NACK, a probe or the timer",
	"rto":     "a probe or the timer",
}

// upTo says where a limit to timeouts was given.
func (u *uet) upTo() string {
	if !u.v.Has("rtoMax") {
		return ""
	}
	limit := fmt.Sprintf(" up to %v", u.v.Time("rtoMax"))
	if u.v.Word("rto") == "spec" {
		return limit
	}
	return limit + ", or to what it is at least"
}

func (u *uet) Rules() []string {
	rules := []string{
		fmt.Sprintf("UET %s, congestion control %s, spraying %s", strings.ToUpper(u.v.Word("mode")), u.v.Word("congestion"), u.v.Word("spray")),
		"real UET headers in every packet; a context opens with its first packet, without a handshake",
		"only what " + lossWords[u.loss()] + " declares lost is sent again; duplicates are counted as spurious",
	}
	if u.v.Word("rto") == "spec" {
		return append(rules, "timeout 1 ms (specification default), doubled at each expiry"+u.upTo())
	}
	return append(rules, "timeout adaptive: four smoothed RTTs, at least the base RTT plus full queues on the longest way (1 ms where no queue has a limit of its own), doubled at each expiry"+u.upTo())
}
