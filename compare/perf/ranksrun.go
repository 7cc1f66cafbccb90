package perf

import (
	"context"
	"errors"
	"time"
)

// batchTime is how long a batch should take: rank 0 asks for the next one by messages, which must not matter, and hears of
// an interrupt in between.
const batchTime = 100 * time.Millisecond

// A JobPrinter shows a Job as it goes on.
type JobPrinter interface {
	Begin(j *Job)
	Interval(j *Job, size int, v Interval)
	Result(r *CollectiveResult)
	End(all []CollectiveResult)
}

// Run measures all sizes. When ctx ends, what was measured of the size that is under way is the last result.
func (r *Ranks) Run(ctx context.Context, out JobPrinter) error {
	defer context.AfterFunc(ctx, func() { // a batch is soon over; if not, it is ended
		select {
		case <-time.After(goodbye):
			r.cancel(context.Cause(ctx))
		case <-r.ctx.Done():
		}
	})()
	var all []CollectiveResult
	out.Begin(&r.job)
	for _, size := range r.job.Sizes {
		result := CollectiveResult{Job: &r.job, Size: size}
		err := r.measure(ctx, &result, func(v Interval) { out.Interval(&r.job, size, v) })
		if result.Cut = ctx.Err() != nil; result.Operations > 0 {
			out.Result(&result)
			all = append(all, result)
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			out.End(all)
			return r.fail(err)
		}
	}
	out.End(all)
	return nil
}

// measure measures one size: checked before and after what is timed, in batches.
func (r *Ranks) measure(ctx context.Context, result *CollectiveResult, live func(Interval)) error {
	check := func() error {
		if r.job.Unchecked || ctx.Err() != nil {
			return nil
		}
		m, err := r.batch(&batch{Size: result.Size, N: 1, Check: true})
		result.Wrong += m.Wrong
		return err
	}
	if err := check(); err != nil {
		return err
	}
	warm, err := r.batches(ctx, result.Size, r.job.Warmup, 0, 0, func(*Measured) {})
	if err != nil {
		return err
	}
	last := Interval{}
	m, err := r.batches(ctx, result.Size, r.job.Iterations, r.job.Duration, warm.Mean(), func(so *Measured) {
		if r.job.Interval > 0 && so.Elapsed-last.End >= r.job.Interval {
			now := Interval{Start: last.End, End: so.Elapsed, Operations: so.Operations, Bytes: so.Operations * int64(result.Size)}
			v := now
			v.Operations, v.Bytes = now.Operations-last.Operations, now.Bytes-last.Bytes
			live(v)
			last = now
		}
	})
	wrong := result.Wrong
	result.Measured = m
	result.Wrong += wrong
	if err != nil {
		return err
	}
	return check()
}

// batches carries out n operations, or as many as take so long; mean is what one takes, as far as is known (nanoseconds; 0: not).
func (r *Ranks) batches(ctx context.Context, size int, n int64, long time.Duration, mean float64, told func(*Measured)) (all Measured, err error) {
	if n > 0 {
		long = MaxDuration
	}
	for ctx.Err() == nil && all.Elapsed < long && (n == 0 || all.Operations < n) {
		b := batch{Size: size, N: 1}
		if mean > 0 {
			b.N = max(1, int64(float64(min(batchTime, long-all.Elapsed))/mean))
		}
		if n > 0 {
			b.N = min(b.N, n-all.Operations)
		}
		m, err := r.batch(&b)
		if err != nil {
			return all, err
		}
		all.follow(&m)
		mean = all.Mean()
		told(&all)
	}
	return all, nil
}

// batch has all ranks carry out a batch.
func (r *Ranks) batch(b *batch) (m Measured, err error) {
	r.tell(message{Kind: sayBatch, Batch: b})
	if m, err = r.rank.do(r.ctx, b); err != nil {
		return m, r.soon(err)
	}
	elapsed := m.Elapsed
	for _, c := range r.others {
		if c == nil {
			continue
		}
		a, err := c.hear(r.ctx, sayMeasured)
		if err != nil {
			return m, r.why(err)
		}
		if a.Measured == nil {
			return m, errors.New("a rank has not measured anything")
		}
		m.join(a.Measured)
		elapsed += a.Measured.Elapsed
	}
	m.Elapsed = elapsed / time.Duration(r.job.Ranks)
	return m, nil
}

// soon gives the connections a moment to say which rank is to blame for an error of the library.
func (r *Ranks) soon(err error) error {
	select {
	case <-r.ctx.Done():
	case <-time.After(moment):
	}
	return r.why(err)
}
