package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/rocev2/sockets"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// Live runs a scenario over sockets on loopback. It takes as long as the scenario says, and ends early with ctx.
func Live(ctx context.Context, s *Scenario, p protocol.Protocol) (o Outcome, err error) {
	r := &liveRun{s: s, over: make(chan struct{})}
	defer r.close()
	for h := range r.ends {
		if err := r.open(h, p); err != nil {
			return o, err
		}
	}
	to, err := r.ends[0].carrier.Resolve(r.ends[1].carrier.Local()[0].String())
	if err != nil {
		return o, err
	}
	var failed error
	if err := r.ends[0].carrier.Do(func(now core.Time) {
		r.begun = now
		failed = post(now, s, r.ends[0].host, to)
	}); err != nil || failed != nil {
		return o, errors.Join(err, failed)
	}
	select {
	case <-r.over:
	case <-ctx.Done():
		return o, context.Cause(ctx)
	}
	pause := time.NewTimer(time.Duration(rest(s) / core.Time(instant.Nanosecond)))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return o, context.Cause(ctx)
	}
	return r.outcome()
}

type liveRun struct {
	s     *Scenario
	ends  [2]liveEnd
	begun core.Time

	mu    sync.Mutex
	tally tally
	once  sync.Once
	over  chan struct{}
}

type liveEnd struct {
	carrier *udp.Carrier
	host    core.Host
	weather *weather
}

func (r *liveRun) open(h int, p protocol.Protocol) (err error) {
	e := &r.ends[h]
	e.weather = newWeather(r.s, h)
	c := udp.Config{Local: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:0")}, Lanes: 4, Fate: func(p *core.Packet) udp.Fate {
		now := e.carrier.Now() // by one clock, or packets would overtake each other where none is late
		lost, after := e.weather.fate(now, p)
		return udp.Fate{Drop: lost, At: now + after}
	}}
	switch p.Proto() {
	case core.ProtoUET:
	case core.ProtoRoCE:
		c.Format = sockets.Format{}
	default:
		return errors.New("this protocol does not run over sockets; expected uet or rocev2")
	}
	if e.carrier, err = udp.Listen(c); err != nil {
		return err
	}
	if e.host, err = p.NewHost(e.carrier.Self(), environment(r.s, e.carrier.Remote)); err != nil {
		return err
	}
	return e.carrier.Start(e.host, func(now core.Time) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.tally.hear(now-r.begun, e.host) && r.tally.over(r.s) {
			r.once.Do(func() { close(r.over) })
		}
	})
}

func (r *liveRun) close() {
	for i := range r.ends {
		if r.ends[i].carrier != nil {
			r.ends[i].carrier.Close()
		}
	}
}

// outcome reads what both ends have counted. The ends are closed, so that nothing counts on.
func (r *liveRun) outcome() (o Outcome, err error) {
	var late time.Duration
	var drops uint64
	for i := range r.ends {
		stats, err := r.ends[i].carrier.Stats()
		if err != nil {
			return o, err
		}
		late = max(late, stats.Lateness.Max())
		drops += stats.Overflow
		for reason, n := range stats.Drops {
			if udp.Drop(reason) != udp.FateDrop {
				drops += n
			}
		}
	}
	r.close()
	o = outcome(r.s, r.tally, [2]core.Host{r.ends[0].host, r.ends[1].host}, [2]*weather{r.ends[0].weather, r.ends[1].weather})
	if late > r.s.RTT/10 {
		o.Doubts = append(o.Doubts, fmt.Sprintf("this machine was late by up to %v", late.Round(10*time.Microsecond)))
	}
	if drops > 0 {
		o.Doubts = append(o.Doubts, fmt.Sprintf("this machine dropped %d packets of its own", drops))
	}
	return o, nil
}
