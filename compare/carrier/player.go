package carrier

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A fleet is the transport of one protocol at all hosts of a run.
type fleet interface {
	// send begins a message of a flow, and returns when it did. Its ends are told to the player, by its number.
	send(id int, flow int32, f *workload.Flow) (instant.Time, error)
	// counters returns what all hosts have counted so far.
	counters() (core.Counters, error)
	// close ends all hosts, and waits until they have.
	close() error
}

// An ending is news of a message.
type ending struct {
	kind             core.EventKind // Delivered, Completed or Failed
	id               int
	at               instant.Time
	bytes            uint64 // Delivered
	resent, timeouts uint32
	err              error // the fleet has broken down
}

// A player carries out a plan in wall-clock time. One goroutine starts messages and keeps the books; hosts tell it of ends.
type player struct {
	plan     *workload.Plan
	schedule *workload.Schedule
	fleet    fleet
	dilation float64
	made     time.Time
	begun    atomic.Int64 // nanoseconds since made, when the play began

	messages []runner.Message
	open     int // messages that have not ended

	mu    sync.Mutex
	heard []ending
	wake  chan struct{} // of capacity 1
}

func newPlayer(plan *workload.Plan, dilation float64) *player {
	return &player{plan: plan, schedule: workload.NewSchedule(plan), dilation: dilation, made: time.Now(), wake: make(chan struct{}, 1)}
}

// start lets the clock of the play begin.
func (p *player) start() { p.begun.Store(int64(time.Since(p.made))) }

// clock is the network's time since the beginning of the play.
func (p *player) clock() instant.Time {
	return instant.FromDuration(time.Duration(float64(int64(time.Since(p.made))-p.begun.Load()) / p.dilation))
}

// tell takes news from where hosts are driven; it does not block.
func (p *player) tell(e ending) {
	p.mu.Lock()
	p.heard = append(p.heard, e)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// play runs until all messages have ended, or the horizon has come. The error is a broken promise of the transport, or
// emulator.ErrInterrupted.
func (p *player) play(ctx context.Context, horizon instant.Time) error {
	var news []ending
	for {
		p.mu.Lock()
		news, p.heard = p.heard, news[:0]
		p.mu.Unlock()
		for i := range news {
			if err := p.take(&news[i]); err != nil {
				return err
			}
		}
		next, err := p.begin()
		if err != nil {
			return err
		}
		if p.open == 0 && p.schedule.Begun() || p.clock() >= horizon {
			return nil
		}
		if !p.rest(ctx, min(next, horizon)) {
			return fmt.Errorf("%w after %v", emulator.ErrInterrupted, p.clock())
		}
	}
}

// rest waits for news or an instant; false: ctx has ended.
func (p *player) rest(ctx context.Context, until instant.Time) bool {
	t := time.NewTimer(time.Duration(float64(until-p.clock()) / float64(instant.Nanosecond) * p.dilation))
	defer t.Stop()
	select {
	case <-p.wake:
	case <-t.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// settle lets what is under way arrive.
func (p *player) settle(ctx context.Context, span instant.Time) error {
	for until := p.clock() + span; p.clock() < until; {
		if !p.rest(ctx, until) {
			return fmt.Errorf("%w after %v", emulator.ErrInterrupted, p.clock())
		}
	}
	return nil
}

// begin starts what is due, and returns when there is more.
func (p *player) begin() (next instant.Time, err error) {
	for {
		flow, at, ok := p.schedule.Due(p.clock())
		if !ok {
			return at, nil
		}
		if err := p.send(flow); err != nil {
			return 0, err
		}
	}
}

func (p *player) send(flow int32) error {
	f := &p.plan.Flows[flow]
	id := len(p.messages)
	p.messages = append(p.messages, runner.Message{Flow: flow})
	p.open++
	at, err := p.fleet.send(id, flow, f)
	if err != nil {
		return fmt.Errorf("flow %d (%d->%d): %w", flow, f.Src, f.Dst, err)
	}
	p.messages[id].Start = at
	return nil
}

// take keeps the books of one ending.
func (p *player) take(e *ending) error {
	if e.err != nil {
		return e.err
	}
	if e.id >= len(p.messages) {
		return fmt.Errorf("a host reports message %d of %d", e.id, len(p.messages))
	}
	m := &p.messages[e.id]
	f := &p.plan.Flows[m.Flow]
	if e.kind == core.Delivered {
		if m.Delivered || e.bytes != f.Bytes {
			return fmt.Errorf("flow %d (%d->%d, %d bytes): %d bytes were delivered, before: %v", m.Flow, f.Src, f.Dst, f.Bytes, e.bytes, m.Delivered)
		}
		m.Delivered, m.Received = true, e.at
		return p.activate(f.RecvDone)
	}
	if m.State != runner.Running {
		return fmt.Errorf("flow %d (%d->%d): ended twice", m.Flow, f.Src, f.Dst)
	}
	m.Sent, m.Resent, m.Timeouts = e.at, e.resent, e.timeouts
	p.open--
	if e.kind == core.Failed {
		m.State = runner.Failed
		return nil
	}
	m.State = runner.Finished
	return p.activate(f.SendDone)
}

func (p *player) activate(trigger int32) error {
	for _, flow := range p.schedule.Activate(trigger) {
		if err := p.send(flow); err != nil {
			return err
		}
	}
	return nil
}
