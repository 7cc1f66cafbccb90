package crosscheck

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Virtual runs a scenario in virtual time.
func Virtual(ctx context.Context, s *Scenario, p protocol.Protocol) (o Outcome, err error) {
	build, _, err := emulator.Topologies.Make("single", nil)
	if err != nil {
		return o, err
	}
	network, err := build(emulator.Spec{Hosts: 2, RateBps: lineRateBps})
	if err != nil {
		return o, err
	}
	f, err := emulator.New(network, emulator.Config{Classes: []emulator.Class{{Name: "control", Priority: 1}, {Name: "data"}}, LinkOverhead: 38, MaxWireBytes: wireMTU})
	if err != nil {
		return o, err
	}
	r := &virtualRun{s: s, fabric: f}
	for h := range r.hosts {
		env := environment(s, func(a core.Addr) core.Memory {
			m, _ := r.hosts[a].Host.(core.Memory)
			return m
		})
		host, err := p.NewHost(core.Addr(h), env)
		if err != nil {
			return o, err
		}
		r.hosts[h] = &delayed{Host: host, weather: newWeather(s, h), hear: r.hear}
		f.Attach(h, r.hosts[h], p.Proto(), 1)
	}
	f.At(0, r.begin)
	if err := f.Run(ctx, core.Never); err != nil {
		return o, err
	}
	if r.failed != nil {
		return o, r.failed
	}
	return outcome(s, r.tally, [2]core.Host{r.hosts[0].Host, r.hosts[1].Host}, [2]*weather{r.hosts[0].weather, r.hosts[1].weather}), nil
}

type virtualRun struct {
	s      *Scenario
	fabric *emulator.Fabric
	hosts  [2]*delayed
	tally  tally
	failed error
}

func (r *virtualRun) begin(now core.Time) {
	if r.failed = post(now, r.s, r.hosts[0].Host, 1); r.failed != nil {
		r.fabric.Stop()
	}
	r.fabric.Wake(0)
}

// hear counts what has ended. When all has, what is under way still arrives.
func (r *virtualRun) hear(now core.Time, h core.Host) {
	if r.tally.hear(now, h) && r.tally.over(r.s) {
		r.fabric.At(now+rest(r.s), func(core.Time) { r.fabric.Stop() })
	}
}

// A delayed is a Host whose arriving packets meet a weather.
type delayed struct {
	core.Host
	weather *weather
	hear    func(now core.Time, h core.Host)
	held    lateOnes
	seq     uint64
}

type latePacket struct {
	at     core.Time
	seq    uint64
	packet core.Packet
}

// lateOnes is a heap: the next one first; ties in order of arrival.
type lateOnes []*latePacket

func (l lateOnes) Len() int { return len(l) }
func (l lateOnes) Less(i, k int) bool {
	return l[i].at < l[k].at || l[i].at == l[k].at && l[i].seq < l[k].seq
}
func (l lateOnes) Swap(i, k int) { l[i], l[k] = l[k], l[i] }
func (l *lateOnes) Push(v any)   { *l = append(*l, v.(*latePacket)) }
func (l *lateOnes) Pop() any {
	v := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return v
}

func (d *delayed) HandlePacket(now core.Time, p *core.Packet) {
	if lost, after := d.weather.fate(now, p); !lost {
		heap.Push(&d.held, &latePacket{now + after, d.seq, *p})
		d.seq++
	}
}

func (d *delayed) HandleTimeout(now core.Time) {
	for len(d.held) > 0 && d.held[0].at <= now {
		d.Host.HandlePacket(now, &heap.Pop(&d.held).(*latePacket).packet)
		d.hear(now, d.Host)
	}
	if d.Host.Deadline() <= now {
		d.Host.HandleTimeout(now)
		d.hear(now, d.Host)
	}
}

func (d *delayed) Deadline() core.Time {
	if len(d.held) > 0 {
		return min(d.held[0].at, d.Host.Deadline())
	}
	return d.Host.Deadline()
}

// What both carriers have in common.
const (
	lineRateBps = 100_000_000_000
	wireMTU     = payloadMTU + 200
)

// environment is what a host knows of the network.
func environment(s *Scenario, memory func(core.Addr) core.Memory) protocol.Env {
	rtt := instant.FromDuration(s.RTT)
	return protocol.Env{LineRateBps: lineRateBps, BaseRTT: rtt, PairRTT: func(core.Addr, core.Addr) instant.Time { return rtt }, BDP: int64(s.Window),
		PayloadMTU: payloadMTU, WireMTU: wireMTU, MaxHops: 2, Data: 1, Control: 0, Seed: s.Seed, Memory: memory}
}

// rest is how long packets may be under way when all messages have ended.
func rest(s *Scenario) core.Time { return 2 * instant.FromDuration(s.RTT+s.ReorderBy) }

// post begins all messages.
func post(now core.Time, s *Scenario, h core.Host, to core.Addr) error {
	for i := range s.Messages {
		if err := h.Send(now, core.Message{To: to, Length: uint64(s.Size), RemoteKey: uint64(i), Cookie: uint64(i)}); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}
