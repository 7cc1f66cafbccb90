package perf

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire"
)

// carrierParams are those of all protocols over the UDP carrier.
var carrierParams = []param.Param{
	{Name: "mtu", Kind: param.Int, Default: "", Min: 256, Max: 9000, Doc: "payload bytes of a full packet; absent: the largest of 4096, 2048 and 1024 that the interface takes; not scaled"},
	{Name: "spin", Kind: param.Duration, Default: "30us", Max: float64(instant.Second), Doc: "how long the carrier polls after the last packet before it sleeps; 0: it never polls (30us is ours: longer than a round trip between neighbours); not scaled"},
	{Name: "inline", Kind: param.Bool, Default: "false", Doc: "the goroutine that waits drives the carrier, without a hand-over to its loop: for latency"},
	{Name: "lanes", Kind: param.Int, Default: "64", Min: 1, Max: udp.MaxLanes, Doc: "UDP source ports, a power of two: entropy values on the wire (UE Specification 3.6.5: 64 to 256); not scaled"},
	{Name: "run", Kind: param.Int, Default: "32", Min: 1, Max: 64, Doc: "most packets in one GSO burst (ours; the kernel takes 64); not scaled"},
	{Name: "gso", Kind: param.Bool, Default: "true", Doc: "bursts leave in one system call (UDP_SEGMENT)"},
	{Name: "gro", Kind: param.Bool, Default: "true", Doc: "the kernel joins datagrams on arrival (UDP_GRO)"},
}

func init() {
	Protocols.Register(param.Entry[*protocol]{
		Name: "uet", Doc: "Ultra Ethernet Transport, by package transport", Source: "UE Specification 1.0.x, sections 3.4 to 3.6",
		Params: append([]param.Param{
			{Name: "mode", Kind: param.Word, Default: "rud", OneOf: []string{"rud", "rod"}, Doc: "rud: unordered, sprayed; rod: ordered, one path"},
			{Name: "congestion", Kind: param.Choice, Default: "nscc", Of: &congestion.Registry, Doc: "congestion control"},
			{Name: "window", Kind: param.Bytes, Default: "", Min: 1 << 10, Max: 1 << 30, Doc: "this much under way at most, whatever the network says, instead of congestion control; not scaled"},
			{Name: "spray", Kind: param.Choice, Default: "", Of: &spray.Registry, Doc: "choice of entropy values; absent: the library's, oblivious over 64 in runs of 16"},
			{Name: "fastLoss", Kind: param.Bool, Default: "true", Doc: "what is missing behind 1.5 windows of later packets is held lost (SLEEK)"},
			{Name: "tailProbe", Kind: param.Bool, Default: "true", Doc: "a probe asks for the state of the tail when acknowledgements stay away"},
			{Name: "rtt", Kind: param.Duration, Default: "", Min: 1, Max: float64(instant.Second), Doc: "base RTT, from which congestion control and loss detection start and with which they scale; absent: measured, 100us at least"},
			{Name: "crc", Kind: param.Bool, Default: "true", Doc: "the CRC behind the payload"},
			{Name: "ackTrigger", Kind: param.Bytes, Default: "16KiB", Min: 1, Max: 1 << 20, Doc: "bytes received that cause an acknowledgement (ACK_Gen_Trigger); not scaled: four packets of 4 KiB at any rate"},
			{Name: "rate", Kind: param.Rate, Default: "100Gbps", Min: 1e6, Max: 1e13, Doc: "of the slowest link, from which congestion control knows how much fits on the path, and with which that scales"},
		}, carrierParams...),
		New: func(v param.Values) (*protocol, error) {
			return &protocol{operations: []string{Write, Read, Send, Tagged, Atomic, Stream}, impairs: true,
				differs: "not encrypted; " + uetControl(v) + "; " + onOff("CRC", v.Bool("crc")) + ", " + onOff("UDP checksum", true) + ", " + onOff("GSO", v.Bool("gso")),
				open:    func(ctx context.Context, p place, t *Test) (end, error) { return openUET(ctx, v, p, t) },
				listen: func(ctx context.Context, address string, c transport.Config) (*transport.Endpoint, error) {
					return listenUET(ctx, v, address, c)
				}}, nil
		},
	})
}

// uetControl says what bounds what is under way.
func uetControl(v param.Values) string {
	if v.Has("window") {
		return fmt.Sprintf("a fixed window of %d bytes", v.Bytes("window", 0))
	}
	name, _ := v.Choice("congestion")
	return "congestion control " + name
}

func onOff(what string, on bool) string {
	if on {
		return what + " on"
	}
	return what + " off"
}

// carrierConfig reads carrierParams.
func carrierConfig(v param.Values) udp.Config {
	c := udp.Config{Lanes: int(v.Int("lanes")), Run: int(v.Int("run")), NoGSO: !v.Bool("gso"), NoGRO: !v.Bool("gro"), Inline: v.Bool("inline")}
	if c.Spin = time.Duration(v.Time("spin") / core.Time(instant.Nanosecond)); c.Spin == 0 {
		c.Spin = -1
	}
	return c
}

// A uetEnd is one endpoint; a flow is a context (PDC) and a queue.
type uetEnd struct {
	t       *Test
	ep      *transport.Endpoint
	peer    *transport.Peer
	memory  []*transport.Memory // of each flow
	keys    []uint64            // of the peer's memory
	options []transport.Option
}

// lossDetection sets how losses are found besides timers. With both off the library would take its own choice, if nothing
// else of them were said.
func lossDetection(v param.Values, c *core.Config) {
	c.FastLoss.On, c.TailProbe.On, c.TailProbe.MaxProbes = v.Bool("fastLoss"), v.Bool("tailProbe"), 5
}

// listenUET opens an endpoint as the parameters say. Fate, and what bounds operations, are the caller's.
func listenUET(ctx context.Context, v param.Values, address string, c transport.Config) (*transport.Endpoint, error) {
	fate := c.UDP.Fate
	c.UDP = carrierConfig(v)
	c.UDP.Fate = fate
	if !v.Bool("crc") {
		c.UDP.Format = udp.UET{Order: wire.CRCOff}
	}
	c.Core.PayloadMTU = int(v.Int("mtu"))
	c.Core.LineRateBps, c.Core.ACK.Trigger = v.Rate("rate"), int(v.Bytes("ackTrigger", 0))
	if v.Has("rtt") {
		c.Core.BaseRTT = v.Time("rtt")
	}
	lossDetection(v, &c.Core)
	var err error
	name, given := v.Choice("congestion")
	if v.Has("window") {
		name, given = "fixed", map[string]string{"window": fmt.Sprint(v.Bytes("window", 0))}
	}
	if c.Core.NewController, _, err = congestion.Registry.Make(name, given); err != nil {
		return nil, err
	}
	if v.Has("spray") {
		name, given = v.Choice("spray")
		if c.Core.NewSprayer, _, err = spray.Registry.Make(name, given); err != nil {
			return nil, err
		}
	}
	return transport.Listen(ctx, address, c)
}

func openUET(ctx context.Context, v param.Values, p place, t *Test) (end, error) {
	c := transport.Config{MaxPending: t.Flows*(4*t.Depth+16) + 64, UDP: udp.Config{Fate: t.Impairment.fate(p.stream())}}
	c.Core.PDCs, c.Core.Resources = min(t.Flows, 256), t.Flows
	e := &uetEnd{t: t}
	if v.Has("mode") && v.Word("mode") == "rod" {
		e.options = []transport.Option{transport.Ordered}
	}
	var err error
	if e.ep, err = listenUET(ctx, v, netip.AddrPortFrom(p.local, p.port(t)).String(), c); err != nil {
		return nil, err
	}
	if t.Operation == Stream {
		return e.streams(p)
	}
	for range t.Flows {
		m, err := e.ep.Register(make([]byte, t.Size), transport.RemoteWrite|transport.RemoteRead|transport.RemoteAtomic)
		if err != nil {
			e.ep.Close()
			return nil, err
		}
		e.memory = append(e.memory, m)
	}
	return e, nil
}

// streams makes the end of streams over the endpoint.
func (e *uetEnd) streams(p place) (end, error) {
	s := newPipes(e.t, p)
	s.totals, s.mine.Address, s.shut = e.counters, e.ep.Name(), e.ep.Close
	if p.server {
		l, err := e.ep.ListenStream("")
		if err != nil {
			e.ep.Close()
			return nil, err
		}
		s.accept(func() (pipe, error) { return l.Accept() })
		return s, nil
	}
	s.dial = func(ctx context.Context, o offer) (pipe, error) {
		peer, err := e.ep.Dial(ctx, o.Address)
		if err != nil {
			return nil, err
		}
		return peer.DialStream(ctx, "")
	}
	return s, nil
}

func (e *uetEnd) offer() offer {
	o := offer{Address: e.ep.Name()}
	for _, m := range e.memory {
		o.Keys = append(o.Keys, m.Key())
	}
	return o
}

func (e *uetEnd) meet(ctx context.Context, o offer) (err error) {
	if len(o.Keys) != e.t.Flows {
		return fmt.Errorf("the other end offers %d keys for %d flows", len(o.Keys), e.t.Flows)
	}
	e.keys = o.Keys
	e.peer, err = e.ep.Dial(ctx, o.Address)
	return err
}

// request returns the operation that a flow repeats.
func (e *uetEnd) request(flow int, more ...transport.Option) transport.Request {
	options := append(append([]transport.Option{}, e.options...), more...)
	r := transport.Request{Peer: e.peer, Local: e.memory[flow].Slice(0, e.t.Size), Remote: transport.Remote{Key: e.keys[flow]}}
	switch e.t.Operation {
	case Write:
		r.Op = transport.OpWrite
	case Read:
		r.Op = transport.OpRead
	case Send:
		r.Op = transport.OpSend
		options = append(options, transport.Deferrable, transport.Resource(uint16(flow)))
	case Tagged:
		r.Op, r.Remote = transport.OpTaggedSend, transport.Remote{Key: uint64(flow)}
		options = append(options, transport.Deferrable)
	case Atomic:
		r.Op, r.Atomic, r.Type, r.Operand, r.Local = transport.OpFetchAtomic, wire.AtomicSum, wire.TypeUint64, 1, transport.Slice{}
	}
	r.Options = options
	return r
}

// receive returns what takes the messages of a flow.
func (e *uetEnd) receive(flow int) transport.Request {
	r := transport.Request{Op: transport.OpReceive, Local: e.memory[flow].Slice(0, e.t.Size)}
	if e.t.Operation == Tagged {
		r.Match = transport.Match{Tagged: true, Tag: uint64(flow)}
	} else {
		r.Match = transport.Match{Resource: uint16(flow)}
	}
	return r
}

func (e *uetEnd) messages() bool { return e.t.Operation == Send || e.t.Operation == Tagged }

func (e *uetEnd) source(ctx context.Context, flow int) (source, error) {
	s := &uetSource{ctx: ctx, queue: e.ep.NewQueue(e.t.Depth), buf: make([]transport.Completion, e.t.Depth)}
	for range e.t.Depth {
		s.requests = append(s.requests, e.request(flow))
	}
	return s, nil
}

// A uetSource keeps one request under way many times.
type uetSource struct {
	ctx      context.Context
	queue    *transport.Queue
	requests []transport.Request
	buf      []transport.Completion
}

func (s *uetSource) post(n int) (int, error) {
	n, err := s.queue.Post(s.requests[:n]...)
	if errors.Is(err, transport.ErrBusy) {
		err = nil
	}
	return n, err
}

func (s *uetSource) wait() (int, error) { return collect(s.ctx, s.queue, s.buf) }

func (s *uetSource) finish() error { return nil }

// collect waits for completions; one that failed is an error.
func collect(ctx context.Context, q *transport.Queue, buf []transport.Completion) (int, error) {
	n, err := q.Wait(ctx, buf)
	for i := range buf[:n] {
		if buf[i].Err != nil {
			return n, buf[i].Err
		}
	}
	return n, err
}

func (e *uetEnd) serve(ctx context.Context, flow int) error {
	switch {
	case e.messages():
		return e.serveMessages(ctx, flow)
	case e.t.Operation == Write && e.t.Metric == Latency:
		h := e.hitter(ctx, flow)
		for {
			if _, err := e.memory[flow].Arrival(ctx); err != nil {
				return err
			}
			if err := h.hit(); err != nil {
				return err
			}
		}
	}
	<-ctx.Done() // nobody is needed
	return nil
}

// serveMessages keeps receives posted, and answers in a ping-pong.
func (e *uetEnd) serveMessages(ctx context.Context, flow int) error {
	q := e.ep.NewQueue(4 * e.t.Depth)
	receive, answer := e.receive(flow), e.request(flow)
	receives := make([]transport.Request, 2*e.t.Depth)
	for i := range receives {
		receives[i] = receive
	}
	if _, err := q.Post(receives...); err != nil {
		return err
	}
	buf := make([]transport.Completion, 2*e.t.Depth)
	for {
		n, err := collect(ctx, q, buf)
		if err != nil {
			return err
		}
		again := 0
		for i := range buf[:n] {
			if buf[i].Op == transport.OpReceive {
				again++
			}
		}
		if _, err := q.Post(receives[:again]...); err != nil {
			return err
		}
		for ; e.t.Metric == Latency && again > 0; again-- {
			if _, err := q.Post(answer); err != nil {
				return err
			}
		}
	}
}

// A hitter writes to the other end with data, which is noticed there. Completions are collected when there are many.
type hitter struct {
	ctx   context.Context
	queue *transport.Queue
	write transport.Request
	buf   []transport.Completion
}

func (e *uetEnd) hitter(ctx context.Context, flow int) *hitter {
	const kept = 16
	return &hitter{ctx, e.ep.NewQueue(kept), e.request(flow, transport.WithData(1)), make([]transport.Completion, kept)}
}

func (h *hitter) hit() error {
	for {
		_, err := h.queue.Post(h.write)
		if !errors.Is(err, transport.ErrBusy) {
			return err
		}
		if _, err := collect(h.ctx, h.queue, h.buf); err != nil {
			return err
		}
	}
}

func (e *uetEnd) pinger(ctx context.Context, flow int) (func() error, error) {
	switch {
	case e.t.Operation == Write:
		h := e.hitter(ctx, flow)
		return func() error {
			if err := h.hit(); err != nil {
				return err
			}
			_, err := e.memory[flow].Arrival(ctx)
			return err
		}, nil
	case e.messages():
		return e.messenger(ctx, flow), nil
	}
	q, r, buf := e.ep.NewQueue(1), e.request(flow), make([]transport.Completion, 1)
	return func() error {
		if _, err := q.Post(r); err != nil {
			return err
		}
		_, err := collect(ctx, q, buf)
		return err
	}, nil
}

// messenger sends, and returns when the answer is there.
func (e *uetEnd) messenger(ctx context.Context, flow int) func() error {
	q, buf := e.ep.NewQueue(16), make([]transport.Completion, 16)
	pair := []transport.Request{e.receive(flow), e.request(flow)}
	return func() error {
		for first := 0; ; {
			n, err := q.Post(pair[first:]...)
			if first += n; first == len(pair) {
				break
			}
			if !errors.Is(err, transport.ErrBusy) {
				return err
			}
			if _, err := collect(ctx, q, buf); err != nil {
				return err
			}
		}
		for {
			n, err := collect(ctx, q, buf)
			if err != nil {
				return err
			}
			for i := range buf[:n] {
				if buf[i].Op == transport.OpReceive {
					return nil
				}
			}
		}
	}
}

func (e *uetEnd) counters() Counters {
	var c Counters
	if k, ok := e.ep.Driver().(*udp.Carrier); ok {
		c = carrierCounters(k)
	}
	if s, err := e.ep.Stats(); err == nil {
		c.protocol(s.Counters)
	}
	return c
}

// carrierCounters reads what the carrier knows.
func carrierCounters(k *udp.Carrier) (c Counters) {
	s, err := k.Stats()
	if err != nil {
		return c
	}
	c.PacketsSent, c.PacketsReceived, c.KernelDrops, c.GSO, c.GRO = s.Sent, s.Received, s.Overflow, s.GSO, s.GRO
	for reason, n := range s.Drops {
		if udp.Drop(reason) == udp.FateDrop {
			c.InjectedDrops = n
		} else {
			c.OwnDrops += n
		}
	}
	return c
}

// protocol adds what the protocol knows.
func (c *Counters) protocol(s core.Counters) {
	c.Retransmitted, c.Timeouts, c.Nacks, c.OutOfOrder, c.Duplicates = s.Retransmits, s.Timeouts, s.NacksReceived, s.OutOfOrder, s.Duplicates
}

func (e *uetEnd) close() error { return e.ep.Close() }
