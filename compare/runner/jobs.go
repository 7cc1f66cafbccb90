package runner

import (
	"context"
	"sync"

	"github.com/weft-transport/weft/compare/scenario"
)

// A Job is one run to be made.
type Job struct {
	Setting *Setting
	Entry   *scenario.Entry
	Seed    uint64
}

func (j *Job) run(ctx context.Context, opt Options) (*Result, error) {
	if opt.Player != nil {
		return opt.Player.Run(ctx, j.Setting, j.Entry, j.Seed, opt)
	}
	return j.Setting.Run(ctx, j.Entry, j.Seed, opt)
}

// RunAll makes all runs, up to workers at once, as many as memory allows. done is called for every
// run in the order of the jobs, whatever the order in which they end, and from one goroutine at a
// time. When a run fails or ctx ends, no further run is started; the error is that of the first job
// that failed, and done was called for all before it. When ctx ended, done was called for all that were
// finished, in order, also for those behind one that was not.
func RunAll(ctx context.Context, jobs []Job, workers int, opt Options, done func(i int, r *Result)) error {
	p := &pool{results: make([]*Result, len(jobs)), errs: make([]error, len(jobs)), done: done}
	p.room = sync.NewCond(&p.mu)
	p.budget = memoryThere() / 3 * 2
	var wg sync.WaitGroup
	for range min(max(1, workers), len(jobs)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := p.take(ctx, jobs); i >= 0; i = p.take(ctx, jobs) {
				r, err := jobs[i].run(ctx, opt)
				p.put(i, jobs[i].Setting.Memory(), r, err)
			}
		}()
	}
	wg.Wait()
	if ctx.Err() != nil {
		p.salvage()
	}
	for _, err := range p.errs {
		if err != nil && !Interrupted(err) {
			return err
		}
	}
	for _, err := range p.errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// A pool hands out jobs and collects results.
type pool struct {
	mu       sync.Mutex
	room     *sync.Cond
	next     int // job to hand out
	busy     int
	budget   int64 // bytes that are not taken by running jobs
	results  []*Result
	errs     []error
	reported int
	done     func(i int, r *Result)
}

// take waits until the next job fits into memory and returns its number; -1: there is none left. A
// job that is larger than the budget runs when it has the machine for itself: Fits has refused what cannot.
func (p *pool) take(ctx context.Context, jobs []Job) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.next < len(jobs) && ctx.Err() == nil {
		need := jobs[p.next].Setting.Memory()
		if need <= p.budget || p.busy == 0 {
			p.budget -= need
			p.busy++
			p.next++
			return p.next - 1
		}
		p.room.Wait()
	}
	return -1
}

// put keeps a result and reports all that are now complete in order.
func (p *pool) put(i int, memory int64, r *Result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget += memory
	p.busy--
	p.results[i], p.errs[i] = r, err
	if err != nil {
		p.next = len(p.results) // those that have begun are finished, so that what is reported does not hang on chance
	}
	for p.reported < len(p.results) && p.results[p.reported] != nil {
		p.done(p.reported, p.results[p.reported])
		p.results[p.reported] = &Result{} // the memory is the caller's now
		p.reported++
	}
	p.room.Broadcast()
}

// salvage reports what was finished behind a run that was not.
func (p *pool) salvage() {
	for i := p.reported; i < len(p.results); i++ {
		if p.results[i] != nil {
			p.done(i, p.results[i])
		}
	}
}
