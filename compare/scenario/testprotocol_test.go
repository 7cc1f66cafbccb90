package scenario

import (
	"errors"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/param"
)

// probe is a protocol for tests: it has parameters and class defaults, and no hosts.
type probe struct{ class map[string]string }

func (p probe) ClassDefaults() map[string]string { return p.class }
func (probe) Routing() string                    { return "ecmp" }
func (probe) HeaderBytes() int64                 { return 60 }
func (probe) TransportBytes() int64              { return 32 }
func (probe) Proto() core.Proto                  { return core.ProtoTest }
func (probe) Rules() []string                    { return nil }
func (probe) NewHost(core.Addr, protocol.Env) (core.Host, error) {
	return nil, errors.New("a probe has no hosts")
}

func init() {
	register := func(name string, class map[string]string, params ...param.Param) {
		protocol.Registry.Register(param.Entry[protocol.Protocol]{Name: name, Doc: "for tests", Source: "this file", Params: params,
			New: func(param.Values) (protocol.Protocol, error) { return probe{class}, nil }})
	}
	trims := map[string]string{"queue": "1bdp", "ecnMin": "0.2bdp", "ecnMax": "0.8bdp", "trim": "true"}
	pauses := map[string]string{"flowControl": "pfc", "ecnMin": "400KB", "ecnMax": "1600KB", "ecnP": "0.2"}
	control := param.Param{Name: "congestion", Kind: param.Choice, Default: "nscc", Of: &congestion.Registry, Doc: "congestion control"}
	register("probe", trims,
		param.Param{Name: "window", Kind: param.Bytes, Default: "1bdp", Doc: "bytes outstanding"},
		param.Param{Name: "mode", Kind: param.Word, Default: "fast", OneOf: []string{"fast", "slow"}, Doc: "how"},
		param.Param{Name: "spray", Kind: param.Choice, Default: "reps", Of: &spray.Registry, Doc: "entropy"})
	register("pauser", pauses, param.Param{Name: "qps", Kind: param.Int, Default: "1", Min: 1, Max: 64, Doc: "queue pairs"}, control)
}

func protocolNames() string { return strings.Join(protocol.Registry.Names(), ", ") }
