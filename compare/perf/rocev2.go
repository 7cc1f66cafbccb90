package perf

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/rocev2/sockets"
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
	"github.com/weft-transport/weft/transport/udp"
)

func init() {
	Protocols.Register(param.Entry[*protocol]{
		Name: "rocev2", Doc: "RoCE v2 reliable connections with go-back-N or selective retransmission (IRN), as software over UDP", Source: "InfiniBand Architecture Specification 1.x, annex A17",
		Params: append([]param.Param{
			{Name: "loss", Kind: param.Word, Default: rocev2.LossGoBackN, OneOf: rocev2.Losses, Doc: "what is sent again; selective is IRN, with an address in every packet: writes only, all flows on one queue pair"},
			{Name: "congestion", Kind: param.Choice, Default: "", Of: &congestion.Registry, Doc: "congestion control; absent: none, as over a lossless network"},
			{Name: "outstanding", Kind: param.Int, Default: "256", Min: 1, Max: 1 << 22, Doc: "packets of a queue pair that are not acknowledged (ours: a MiB of 4 KiB packets); not scaled"},
			{Name: "ackReqEvery", Kind: param.Int, Default: "16", Min: 1, Max: 1 << 16, Doc: "packets between two that ask for an acknowledgement (ours); not scaled"},
			{Name: "timeout", Kind: param.Duration, Default: "67.108864ms", Min: 1, Max: float64(10 * instant.Second), Doc: "until what is not acknowledged is sent again; the default is code 14, that of verbs; not scaled"},
			{Name: "timeoutLow", Kind: param.Duration, Default: "10ms", Min: 1, Max: float64(10 * instant.Second), Doc: "of loss=selective, instead of timeout, while at most three packets are under way (IRN: 100us in its network; ours for sockets); not scaled"},
			{Name: "retries", Kind: param.Int, Default: "7", Min: 0, Max: 1 << 20, Doc: "retries without progress before a queue pair fails (7: the default of verbs); not scaled"},
			{Name: "icrc", Kind: param.Bool, Default: "true", Doc: "the ICRC of what arrives is checked; it is always sent"},
		}, carrierParams...),
		New: func(v param.Values) (*protocol, error) {
			operations, recovery := []string{Write, Read, Send, Atomic}, "go-back-N"
			if selective(v) {
				operations, recovery = []string{Write}, "selective retransmission (IRN), one queue pair for all flows"
			}
			return &protocol{operations: operations, impairs: true,
				differs: "not encrypted; " + roceControl(v) + "; " + onOff("ICRC check", v.Bool("icrc")) + ", UDP checksum on, " + onOff("GSO", v.Bool("gso")) + "; one path for each queue pair; " + recovery,
				open:    func(ctx context.Context, p place, t *Test) (end, error) { return openRoCE(v, p, t) }}, nil
		},
	})
}

// selective tells whether a host is to be IRN's.
func selective(v param.Values) bool { return v.Word("loss") == rocev2.LossSelective }

// roceControl says what bounds what is under way.
func roceControl(v param.Values) string {
	text := fmt.Sprintf("%d packets under way at most", v.Int("outstanding"))
	if name, _ := v.Choice("congestion"); v.Has("congestion") {
		text += ", congestion control " + name
	} else {
		text += ", no congestion control"
	}
	return text
}

// A roceEnd is one host; a flow is a queue pair. Both ends number them alike: they know of each other's.
type roceEnd struct {
	t       *Test
	carrier *udp.Carrier
	host    *rocev2.Host
	buffers []uint32 // of each flow; they are keys as well
	flows   []roceFlow
	keys    []uint64 // of the peer's buffers

	selective bool      // then there are no queue pairs of our own, but one between hosts, which carries messages
	peer      core.Addr // of messages
}

// A roceFlow is a queue pair with what it has to tell: requests that have ended here, and receives.
type roceFlow struct {
	pair     rocev2.QueuePair
	requests inbox
	receives inbox
}

// What both ends know without saying.
const (
	firstPair = 0x100
	firstPSN  = 0x1000
)

func openRoCE(v param.Values, p place, t *Test) (end, error) {
	c := carrierConfig(v)
	c.Fate = t.Impairment.fate(p.stream())
	format := sockets.Format{Unchecked: !v.Bool("icrc")}
	if selective(v) {
		format.Dialect = wire.EveryRETH
	}
	c.Format = format
	c.Local = []netip.AddrPort{netip.AddrPortFrom(p.local, p.port(t))}
	carrier, err := udp.Listen(c)
	if err != nil {
		return nil, err
	}
	e := &roceEnd{t: t, carrier: carrier, flows: make([]roceFlow, t.Flows), selective: selective(v)}
	if err := e.start(v); err != nil {
		carrier.Close()
		return nil, err
	}
	return e, nil
}

func (e *roceEnd) start(v param.Values) error {
	mtu, err := pathMTU(int64(v.Int("mtu")), e.carrier.MTU())
	if err != nil {
		return err
	}
	config := rocev2.Config{Path: congestion.Path{LineRateBps: 100e9, BaseRTT: 100 * instant.Microsecond, MTU: mtu + 44, MSS: mtu}, Control: 1,
		Remote: e.carrier.Remote, MaxOutstanding: int(v.Int("outstanding")), AckReqEvery: int(v.Int("ackReqEvery")),
		Timeout: v.Time("timeout"), RetryCount: int(v.Int("retries"))}
	if config.RetryCount == 0 {
		config.RetryCount = -1
	}
	if e.selective {
		config.Loss, config.Placement, config.ReorderWindow = rocev2.Selective, rocev2.OutOfOrder, config.MaxOutstanding
		config.TimeoutLow, config.FewInFlight = v.Time("timeoutLow"), 3
	}
	if v.Has("congestion") {
		name, given := v.Choice("congestion")
		if config.Make, _, err = congestion.Registry.Make(name, given); err != nil {
			return err
		}
	}
	if e.host, err = rocev2.New(e.carrier.Self(), config); err != nil {
		return err
	}
	for i := range e.flows {
		e.buffers = append(e.buffers, e.host.Register(make([]byte, e.t.Size)))
		e.flows[i].requests.waiter, e.flows[i].receives.waiter = e.carrier.Waiter(), e.carrier.Waiter()
	}
	return e.carrier.Start(e.host, e.notify)
}

// pathMTU chooses among those of InfiniBand.
func pathMTU(asked int64, most int) (int64, error) {
	const header = 12 + 28 // BTH, and the longest extension
	for _, mtu := range []int64{4096, 2048, 1024, 512, 256} {
		if (asked == 0 || asked == mtu) && mtu+header <= int64(most) {
			return mtu, nil
		}
	}
	return 0, fmt.Errorf("mtu=%d: expected 256, 512, 1024, 2048 or 4096, and %d bytes of headers, in datagrams of %d", asked, header, most)
}

func (e *roceEnd) offer() offer {
	o := offer{Address: e.carrier.Local()[0].String()}
	for _, b := range e.buffers {
		o.Keys = append(o.Keys, uint64(b))
	}
	return o
}

func (e *roceEnd) meet(_ context.Context, o offer) error {
	if len(o.Keys) != e.t.Flows {
		return fmt.Errorf("the other end offers %d keys for %d flows", len(o.Keys), e.t.Flows)
	}
	e.keys = o.Keys
	peer, err := e.carrier.Resolve(o.Address)
	if err != nil {
		return err
	}
	if e.peer = peer; e.selective {
		return nil
	}
	return e.do(func(core.Time) (err error) {
		for i := range e.flows {
			n := uint32(firstPair + i)
			if e.flows[i].pair, err = e.host.Connect(rocev2.Connection{Peer: peer, QPN: n, PeerQPN: n, SendPSN: firstPSN, ReceivePSN: firstPSN}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *roceEnd) do(f func(now core.Time) error) (err error) {
	if closed := e.carrier.Do(func(now core.Time) { err = f(now) }); closed != nil {
		return closed
	}
	return err
}

// notify sorts completions. It runs where the host is driven.
func (e *roceEnd) notify(core.Time) {
	var buf [32]rocev2.Completion
	for n := e.host.Completions(buf[:]); n > 0; n = e.host.Completions(buf[:]) {
		for _, c := range buf[:n] {
			f := &e.flows[c.Cookie]
			if c.Verb == rocev2.Receive {
				f.receives.add(c.Status)
			} else {
				f.requests.add(c.Status)
			}
		}
	}
	if e.selective {
		e.notifyMessages()
	}
}

// An inbox counts completions that nobody has collected.
type inbox struct {
	waiter core.Waiter
	mu     sync.Mutex
	n      int
	failed rocev2.Status
}

func (b *inbox) add(s rocev2.Status) {
	b.mu.Lock()
	b.n++
	if b.failed == rocev2.Success {
		b.failed = s
	}
	b.mu.Unlock()
	b.waiter.Wake()
}

// collect waits for completions and returns how many there are. One that failed is an error.
func (b *inbox) collect(ctx context.Context) (int, error) {
	defer context.AfterFunc(ctx, b.waiter.Wake)()
	for {
		b.mu.Lock()
		n, failed := b.n, b.failed
		b.n = 0
		b.mu.Unlock()
		if failed != rocev2.Success {
			return n, fmt.Errorf("rocev2: %v", failed)
		}
		if n > 0 {
			return n, nil
		}
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
		if !b.waiter.Wait(core.Never) {
			return 0, udp.ErrClosed
		}
	}
}

// request returns the operation that a flow repeats.
func (e *roceEnd) request(flow int) rocev2.WorkRequest {
	w := rocev2.WorkRequest{Buffer: e.buffers[flow], Length: uint64(e.t.Size), RemoteKey: uint32(e.keys[flow]), Cookie: uint64(flow)}
	switch e.t.Operation {
	case Write:
		w.Verb = rocev2.Write
		if e.t.Metric == Latency {
			w.Verb = rocev2.WriteImmediate // which the other end notices
		}
	case Read:
		w.Verb = rocev2.Read
	case Send:
		w.Verb = rocev2.Send
	case Atomic:
		w.Verb, w.Add = rocev2.FetchAdd, 1
	}
	return w
}

// post begins an operation n times.
func (e *roceEnd) post(flow, n int, w *rocev2.WorkRequest) error {
	if e.selective {
		return e.sendMessages(flow, n)
	}
	return e.do(func(now core.Time) error {
		for range n {
			if err := e.host.Post(now, e.flows[flow].pair, *w); err != nil {
				return err
			}
		}
		return nil
	})
}

// receive makes room for n messages.
func (e *roceEnd) receive(flow, n int) error {
	if e.selective {
		return nil // a message needs none
	}
	b := rocev2.Buffer{Handle: e.buffers[flow], Length: uint64(e.t.Size), Cookie: uint64(flow)}
	return e.do(func(now core.Time) error {
		for range n {
			if err := e.host.PostReceive(now, e.flows[flow].pair, b); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *roceEnd) source(ctx context.Context, flow int) (source, error) {
	return &roceSource{e, ctx, flow, e.request(flow)}, nil
}

type roceSource struct {
	e    *roceEnd
	ctx  context.Context
	flow int
	work rocev2.WorkRequest
}

func (s *roceSource) post(n int) (int, error) { return n, s.e.post(s.flow, n, &s.work) }
func (s *roceSource) wait() (int, error)      { return s.e.flows[s.flow].requests.collect(s.ctx) }
func (s *roceSource) finish() error           { return nil }

// answered tells whether an operation is answered by one of the other end.
func (e *roceEnd) answered() bool { return e.t.Metric == Latency && e.t.answered() }

func (e *roceEnd) serve(ctx context.Context, flow int) error {
	if !e.answered() && e.t.Operation != Send {
		<-ctx.Done() // nobody is needed
		return nil
	}
	if err := e.receive(flow, 2*e.t.Depth); err != nil {
		return err
	}
	for answer := e.request(flow); ; {
		n, err := e.flows[flow].receives.collect(ctx)
		if err != nil {
			return err
		}
		if err := e.receive(flow, n); err != nil {
			return err
		}
		if e.answered() {
			if err := e.post(flow, n, &answer); err != nil {
				return err
			}
		}
	}
}

func (e *roceEnd) pinger(ctx context.Context, flow int) (func() error, error) {
	f, w := &e.flows[flow], e.request(flow)
	return func() error {
		if e.answered() {
			if err := e.receive(flow, 1); err != nil {
				return err
			}
		}
		if err := e.post(flow, 1, &w); err != nil {
			return err
		}
		if _, err := f.requests.collect(ctx); err != nil || !e.answered() {
			return err
		}
		_, err := f.receives.collect(ctx)
		return err
	}, nil
}

func (e *roceEnd) counters() Counters {
	c := carrierCounters(e.carrier)
	e.carrier.Do(func(core.Time) { c.protocol(e.host.Counters()) })
	return c
}

func (e *roceEnd) close() error { return e.carrier.Close() }
