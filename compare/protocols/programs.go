package protocols

import (
	"fmt"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	protocol.Registry.Register(param.Entry[protocol.Protocol]{
		Name: "tcp", Doc: "TCP of the kernel, a connection for each flow; in wall-clock time only (--carrier live, netns)", Source: "RFC 9293; class: a queue of one BDP, ours",
		Params: []param.Param{
			{Name: "congestion", Kind: param.Word, Default: "", Doc: "congestion control of the kernel (TCP_CONGESTION), as cubic, bbr or reno; absent: the system's"},
			{Name: "ecn", Kind: param.Bool, Default: "false", Doc: "connections ask for ECN (RFC 3168)"},
		},
		New: func(v param.Values) (protocol.Protocol, error) {
			rule := "congestion control of the system's choice"
			if cc := v.Word("congestion"); cc != "" {
				rule = "congestion control " + cc
			}
			// Beside the 32 bytes that all count for IP, UDP and a checksum: IP and TCP with time stamps take 52.
			return &program{"tcp", protocol.Streams{Congestion: v.Word("congestion"), ECN: v.Bool("ecn")}, 20, []string{
				"TCP of this machine's kernel, " + rule + ", its other settings as they are: the least timeout is 200 ms whatever the round trip",
				"a connection for each flow, opened before the run; a message is complete when the receiving program has answered with 8 bytes",
			}}, nil
		},
	})
	protocol.Registry.Register(param.Entry[protocol.Protocol]{
		Name: "quic", Doc: "QUIC by quic-go, a connection for each pair of hosts; in wall-clock time only (--carrier live, netns)", Source: "RFC 9000; class: a queue of one BDP, ours",
		New: func(v param.Values) (protocol.Protocol, error) {
			return &program{"quic", protocol.Streams{QUIC: true}, 30, []string{
				"quic-go with its own congestion control (Cubic), TLS 1.3, packets of 1200 to 1452 bytes whatever the MTU, no ECN in process",
				"a connection for each pair of hosts, opened before the run, and a stream for each message, which is complete when the receiving program has answered with 8 bytes",
			}}, nil
		},
	})
}

// A program is a protocol.Program.
type program struct {
	name    string
	streams protocol.Streams
	bytes   int64
	rules   []string
}

var _ protocol.Program = (*program)(nil)

// ClassDefaults give programs the queues that UET has, without what only its packets know.
func (p *program) ClassDefaults() map[string]string {
	class := map[string]string{"queue": "1bdp"}
	if p.streams.ECN {
		class["ecnMin"], class["ecnMax"] = "0.2bdp", "0.8bdp"
	}
	return class
}

func (p *program) Routing() string           { return "ecmp" }
func (p *program) TransportBytes() int64     { return p.bytes }
func (p *program) Proto() core.Proto         { return core.ProtoOther }
func (p *program) Rules() []string           { return p.rules }
func (p *program) Streams() protocol.Streams { return p.streams }

func (p *program) NewHost(core.Addr, protocol.Env) (core.Host, error) {
	return nil, fmt.Errorf("%s has a clock of its own and does not run in virtual time; expected --carrier live or netns", p.name)
}
