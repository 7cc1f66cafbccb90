package protocols

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/protocol"
	rocewire "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
	"github.com/weft-transport/weft/transport/wire"
)

func parse(t *testing.T, spec string) (protocol.Protocol, error) {
	t.Helper()
	s, err := scenario.ParseSpec(spec)
	require.NoError(t, err)
	p, _, err := protocol.Registry.Make(s.Name, s.Given)
	return p, err
}

func made(t *testing.T, spec string) protocol.Protocol {
	t.Helper()
	p, err := parse(t, spec)
	require.NoError(t, err)
	return p
}

func env() protocol.Env {
	return protocol.Env{
		Hosts: 4, LineRateBps: 100e9, BaseRTT: 8 * instant.Microsecond, BDP: 100_000, PayloadMTU: 4096, WireMTU: 4200, QueueBytes: 100_000,
		MaxHops: 2, PairRTT: func(a, b core.Addr) instant.Time { return 5 * instant.Microsecond }, Control: 0, Data: 2, Seed: 1,
	}
}

func TestRegistryIsComplete(t *testing.T) {
	require.Equal(t, []string{"quic", "rocev2", "tcp", "uet"}, protocol.Registry.Names())
	for _, e := range protocol.Registry.All() {
		require.NotEmpty(t, e.Doc, e.Name)
		require.NotEmpty(t, e.Source, e.Name)
		for _, p := range e.Params {
			require.NotEmpty(t, p.Doc, "%s %s", e.Name, p.Name)
		}
	}
}

// The class of every mode is the documented one (docs/ROCE.md; UE Specification 3.6.17), and names settings there are.
func TestClassesAreAsDocumented(t *testing.T) {
	vendor := map[string]string{"ecnMin": "400KB", "ecnMax": "1600KB", "ecnP": "0.2", "flowControl": "pfc", "alpha": "0.125"}
	dropping := maps.Clone(vendor)
	dropping["flowControl"], dropping["alpha"] = "none", "1"
	trimming := map[string]string{"queue": "1bdp", "ecnMin": "0.2bdp", "ecnMax": "0.8bdp", "ecnP": "1", "trim": "true", "flowControl": "none"}
	const everyRETH = rocewire.BTHSize + rocewire.RETHSize
	for _, c := range []struct {
		spec     string
		class    map[string]string
		routing  string
		overhead int64
		proto    core.Proto
	}{
		{"rocev2", vendor, "ecmp", rocewire.BTHSize, core.ProtoRoCE},
		{"rocev2,mode=hardware", vendor, "ecmp", rocewire.BTHSize, core.ProtoRoCE},
		{"rocev2,mode=favourable", vendor, "ecmp", rocewire.BTHSize, core.ProtoRoCE},
		{"rocev2,mode=adaptive", vendor, "adaptive", everyRETH, core.ProtoRoCE},
		{"rocev2,loss=selective", dropping, "ecmp", everyRETH, core.ProtoRoCE},
		{"rocev2,mode=adaptive,loss=selective", vendor, "adaptive", everyRETH, core.ProtoRoCE},
		{"uet", trimming, "ecmp", wire.RequestSize + wire.StandardSize, core.ProtoUET},
		{"uet,mode=rod", trimming, "ecmp", wire.RequestSize + wire.StandardSize, core.ProtoUET},
	} {
		p := made(t, c.spec)
		require.Equal(t, c.class, p.ClassDefaults(), c.spec)
		_, err := param.Resolve(protocol.ClassParams, p.ClassDefaults())
		require.NoError(t, err, c.spec)
		require.Equal(t, c.routing, p.Routing(), c.spec)
		require.Equal(t, c.overhead, p.TransportBytes(), c.spec)
		require.Equal(t, c.proto, p.Proto(), c.spec)
	}
}

func TestParametersAreChecked(t *testing.T) {
	for spec, want := range map[string]string{
		"rocev2,mode=hopeful":          `mode: "hopeful" is not one of standard, hardware, favourable, adaptive`,
		"rocev2,loss=some":             `loss: "some" is not one of gobackn, selective`,
		"rocev2,qps=0":                 "qps: 0 is outside 1 to 256",
		"rocev2,retries=0":             "retries: 0 would give up at the first loss; expected 1 or more, or -1 for any number",
		"rocev2,timeout=32":            "timeout: 32 is outside 0 to 31",
		"rocev2,window=half":           `window: "half" is not a size`,
		"rocev2,firstPSN=16777216":     "firstPSN: 16777216 is outside 1 to 16777215",
		"rocev2,congestion=hope":       `congestion: unknown congestion`,
		"rocev2,spray=reps":            `unknown parameter "spray"`,
		"uet,mode=ordered":             `mode: "ordered" is not one of rud, rod`,
		"uet,spray=rain":               "spray: unknown spray",
		"uet,retries=0":                "retries: 0 would give up",
		"uet,mpr=256":                  "mpr: 256 is outside 1 to 255",
		"uet,pdcs=65":                  "pdcs: 65 is outside 1 to 64",
		"uet,ackTrigger=2MiB":          "ackTrigger: 2MiB is outside",
		"uet,fastLoss=often":           `fastLoss: "often" is neither`,
		"uet,loss=luck":                `loss: "luck" is not one of order, time, entropy, nack, rto`,
		"uet,fastLoss=false,loss=time": "loss: time contradicts fastLoss=false",
		"uet,congestion.gamma=often":   "congestion.gamma",
		"uet,startPSN=4294967296":      "startPSN: 4294967296 is outside 1 to 4294967295",
	} {
		_, err := parse(t, spec)
		require.ErrorContains(t, err, want, spec)
	}
}

// What a fabric cannot offer is an error when a host is made, not a host that does something else.
func TestHostsRefuseWhatTheyCannotUse(t *testing.T) {
	for spec, odd := range map[string]func(*protocol.Env){
		"rocev2 MSS":                  func(e *protocol.Env) { e.PayloadMTU = 4098 },
		"rocev2,loss=selective MTU":   func(e *protocol.Env) { e.WireMTU = 4000 },
		"rocev2,mode=favourable rate": func(e *protocol.Env) { e.LineRateBps = 0 },
		"uet PayloadMTU":              func(e *protocol.Env) { e.PayloadMTU = 1 << 17 },
		"uet,mode=rod LineRateBps":    func(e *protocol.Env) { e.LineRateBps = -1 },
	} {
		spec, word, _ := strings.Cut(spec, " ")
		e := env()
		odd(&e)
		_, err := made(t, spec).NewHost(0, e)
		require.ErrorContains(t, err, word, spec)
	}
}

// first returns the first packet that a host of a SPEC sends.
func first(t *testing.T, spec string) core.Packet {
	h, err := made(t, spec).NewHost(0, env())
	require.NoError(t, err)
	require.NoError(t, h.Send(0, core.Message{To: 1, Length: 64 << 10}))
	var p core.Packet
	require.True(t, h.Transmit(0, core.Pull{Open: ^core.ClassMask(0)}, &p))
	require.Equal(t, core.Class(2), p.Class, "data goes in the class of data")
	return p
}

func TestParametersReachTheWire(t *testing.T) {
	psn := func(spec string, d rocewire.Dialect) rocewire.PSN {
		p := first(t, spec)
		var h rocewire.Header
		_, why := rocewire.Parse(p.Header[:p.HeaderLen], d, &h)
		require.Zero(t, why)
		return h.PSN
	}
	require.Equal(t, rocewire.PSN(77), psn("rocev2,firstPSN=77", rocewire.Standard))
	require.Equal(t, rocewire.PSN(77), psn("rocev2,loss=selective,firstPSN=77", rocewire.EveryRETH))

	for spec, want := range map[string]wire.Type{"uet,startPSN=78": wire.TypeRUD, "uet,mode=rod,startPSN=78": wire.TypeROD} {
		p := first(t, spec)
		r, why := wire.ParseRequest(p.Header[:p.HeaderLen])
		require.Equal(t, wire.OK, why)
		require.Equal(t, want, r.Type, spec)
		require.Equal(t, uint32(78), r.PSN, spec)
	}
}

// A window limits what is sent without an answer, in whole packets and at least one.
func TestWindowLimits(t *testing.T) {
	for spec, want := range map[string]int{"rocev2,congestion=none,window=16KiB": 4, "rocev2,congestion=none,window=1": 1, "rocev2,congestion=none": 16} {
		h, err := made(t, spec).NewHost(0, env())
		require.NoError(t, err)
		require.NoError(t, h.Send(0, core.Message{To: 1, Length: 64 << 10}))
		sent, now := 0, instant.Time(0)
		for p := (core.Packet{}); sent < 100 && h.Transmit(now, core.Pull{Open: ^core.ClassMask(0)}, &p); now += instant.Microsecond {
			sent++
		}
		require.Equal(t, want, sent, spec)
	}
}

// A loss of every n-th packet may not hit a go-back-N window for ever, so it is asked how large that is.
func TestGoBackWindow(t *testing.T) {
	for spec, want := range map[string]int64{
		"rocev2": 23, "rocev2,window=16KiB": 4, "rocev2,window=1": 1, "rocev2,loss=selective": 0, "uet": 0, "uet,mode=rod": 35,
	} {
		require.Equal(t, want, made(t, spec).(protocol.GoesBack).GoBackWindow(env()), spec)
	}
}

// The tuned timeout waits for full queues where they have a limit, and the specification's 1 ms where they have none.
func TestTunedTimeoutHasAFloor(t *testing.T) {
	e := env()
	require.Equal(t, 24*instant.Microsecond, rtoFloor(e), "a round trip, and 8 us of queue at two hops")
	e.QueueBytes = 1000
	require.Equal(t, 16*instant.Microsecond, rtoFloor(e), "at least two round trips")
	e.Lossless = true
	require.Equal(t, instant.Millisecond, rtoFloor(e))
	e.Lossless, e.QueueBytes = false, 0
	require.Equal(t, instant.Millisecond, rtoFloor(e))
}

// The endpoints of a run share their configuration, those of different runs do not.
func TestFamiliesAreOfOneRun(t *testing.T) {
	u := made(t, "uet").(*uet)
	run := env()
	run.Shared = new(any)
	one, err := u.family(run)
	require.NoError(t, err)
	same, err := u.family(run)
	require.NoError(t, err)
	require.Same(t, one, same)
	run.Shared = new(any)
	other, err := u.family(run)
	require.NoError(t, err)
	require.NotSame(t, one, other)
}

// Rules name what was chosen.
func TestRulesSayWhatWasChosen(t *testing.T) {
	for spec, want := range map[string]string{
		"uet,spray=oblivious": "spraying oblivious", "uet,rto=spec": "timeout 1 ms", "uet,rtoMax=2ms": "doubled at each expiry up to 2ms",
		"uet,mode=rod": "UET ROD",
		"rocev2,qps=4": "4 queue pairs", "rocev2,mode=adaptive": "each carries a RETH", "rocev2,congestion=none": "congestion control none",
	} {
		require.Contains(t, strings.Join(made(t, spec).Rules(), "\n"), want, spec)
	}
}
