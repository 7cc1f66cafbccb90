package carrier

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/weft-transport/weft/compare/perf"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A tcpFleet has a connection of the kernel for each flow.
type tcpFleet struct {
	pipes
	flows     []*tcpFlow
	listeners []net.Listener
	before    core.Counters // when the play began
}

// A tcpFlow is both ends of a connection.
type tcpFlow struct {
	from, to *net.TCPConn
	queue    chan outgoing

	mu      sync.Mutex
	pending []int // sent, and not answered
}

// An outgoing message waits for its connection.
type outgoing struct {
	id    int
	bytes uint64
}

const tcpPort = 5001

// openTCP opens all connections; within calls a function where a host's sockets belong.
func openTCP(ctx context.Context, p *player, congestion string, address func(host int) netip.Addr, within func(host int, do func() error) error) (_ *tcpFleet, err error) {
	t := &tcpFleet{pipes: pipes{player: p}, flows: make([]*tcpFlow, len(p.plan.Flows))}
	defer func() {
		if err != nil {
			_ = t.close()
		}
	}()
	listeners := map[int32]net.Listener{}
	config := net.ListenConfig{Control: perf.TCPControl(congestion)}
	for i := range p.plan.Flows {
		f := &p.plan.Flows[i]
		l := listeners[f.Dst]
		if l == nil {
			err := within(int(f.Dst), func() (err error) {
				l, err = config.Listen(ctx, "tcp4", netip.AddrPortFrom(address(int(f.Dst)), tcpPort).String())
				return err
			})
			if err != nil {
				return nil, err
			}
			listeners[f.Dst], t.listeners = l, append(t.listeners, l)
		}
		if t.flows[i], err = t.connect(ctx, f, l, congestion, address, within); err != nil {
			return nil, fmt.Errorf("flow %d (%d->%d): %w", i, f.Src, f.Dst, err)
		}
	}
	t.before, err = t.counters()
	return t, err
}

// connect opens one connection: nobody else uses the listener meanwhile.
func (t *tcpFleet) connect(ctx context.Context, f *workload.Flow, l net.Listener, congestion string, address func(int) netip.Addr, within func(int, func() error) error) (*tcpFlow, error) {
	flow := &tcpFlow{queue: make(chan outgoing, 1<<10)}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(address(int(f.Src)), 0)), Control: perf.TCPControl(congestion)}
	err := within(int(f.Src), func() error {
		c, err := d.DialContext(ctx, "tcp4", l.Addr().String())
		if err == nil {
			flow.from = c.(*net.TCPConn)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c, err := l.Accept()
	if err != nil {
		flow.from.Close()
		return nil, err
	}
	flow.to = c.(*net.TCPConn)
	t.all.Go(func() { _ = t.serve(flow.to) }) // its end shows at the sender
	t.all.Go(func() { t.write(flow) })
	t.all.Go(func() {
		for {
			id, err := t.answered(flow.from)
			if err != nil {
				t.fail(flow)
				return
			}
			flow.done(id)
		}
	})
	return flow, nil
}

func (t *tcpFleet) write(flow *tcpFlow) {
	for m := range flow.queue {
		if err := t.put(flow.from, m.id, m.bytes); err != nil {
			t.fail(flow)
			for range flow.queue { // until it is closed
			}
			return
		}
	}
}

// fail gives up what a connection carries.
func (t *tcpFleet) fail(flow *tcpFlow) {
	flow.mu.Lock()
	lost := flow.pending
	flow.pending = nil
	flow.mu.Unlock()
	for _, id := range lost {
		t.failed(id)
	}
}

func (f *tcpFlow) done(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.pending {
		if f.pending[i] == id {
			f.pending = append(f.pending[:i], f.pending[i+1:]...)
			return
		}
	}
}

func (t *tcpFleet) send(id int, flow int32, m *workload.Flow) (instant.Time, error) {
	f := t.flows[flow]
	f.mu.Lock()
	f.pending = append(f.pending, id)
	f.mu.Unlock()
	at := t.player.clock()
	select {
	case f.queue <- outgoing{id, m.Bytes}:
		return at, nil
	default:
		return at, fmt.Errorf("%d messages of the flow wait for its connection", cap(f.queue))
	}
}

// counters are the kernel's, from the beginning of the play on.
func (t *tcpFleet) counters() (core.Counters, error) {
	c := t.totals()
	for _, f := range t.flows {
		tcpCounters(f.from, f.to, &c)
	}
	since(&c, &t.before)
	return c, nil
}

func (t *tcpFleet) close() error {
	t.closing.Store(true)
	for _, l := range t.listeners {
		l.Close()
	}
	for _, f := range t.flows {
		if f == nil {
			continue
		}
		f.from.SetLinger(0)
		f.to.SetLinger(0)
		f.from.Close()
		f.to.Close()
		close(f.queue)
	}
	t.all.Wait()
	return nil
}
