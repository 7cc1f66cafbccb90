package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Ranks is rank 0 of a Job: where the other ranks come to, and what they listen to.
//
//	rank 0                                    every other
//	ListenRanks                               JoinRanks
//	Gather ◄── join ── job ──► ◄── offer ──   endpoint
//	       ── names ──► ◄── ready ──          group
//	Run    ── batch ──► ◄── measured ──       operations, over the library
//	Close  ── done ──► ◄── done ──
//
// Connections are those of weft perf (control.go). A rank that is lost ends all.
type Ranks struct {
	listener net.Listener
	job      Job
	rank     *rank
	others   []*control      // by rank, from 1
	ctx      context.Context // of all ranks
	cancel   context.CancelCauseFunc
}

// A joining is what a rank says of itself.
type joining struct {
	Rank    int `json:"rank"`
	Of      int `json:"of"`
	Version int `json:"version"`
}

// ListenRanks opens the TCP port of rank 0.
func ListenRanks(ctx context.Context, address string) (*Ranks, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, plain(err))
	}
	r := &Ranks{listener: l}
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return r, nil
}

// Address is where the other ranks connect.
func (r *Ranks) Address() string { return r.listener.Addr().String() }

// Fail ends all ranks, for a reason that was found elsewhere.
func (r *Ranks) Fail(err error) { r.cancel(err) }

// Gather waits until all ranks have come, not longer than that, and has them know each other.
func (r *Ranks) Gather(ctx context.Context, j Job, wait time.Duration) error {
	if err := j.Validate(); err != nil {
		return err
	}
	r.job, r.others = j, make([]*control, j.Ranks)
	defer context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })()
	err := r.accept(wait)
	if err == nil {
		err = r.introduce()
	}
	return r.fail(err)
}

// accept takes in those who come.
func (r *Ranks) accept(wait time.Duration) error {
	late := time.AfterFunc(wait, func() { r.cancel(r.missing(wait)) })
	defer late.Stop()
	defer r.listener.Close() // who comes later is not kept waiting
	defer context.AfterFunc(r.ctx, func() { r.listener.Close() })()
	for n := 1; n < r.job.Ranks; {
		conn, err := r.listener.Accept()
		if cause := context.Cause(r.ctx); cause != nil {
			if err == nil {
				conn.Close()
			}
			var missing *missingError
			if errors.As(cause, &missing) {
				missing.find(r.others)
			}
			return cause
		}
		if err != nil {
			return fmt.Errorf("accept: %w", plain(err))
		}
		c := newControl(context.Background(), conn)
		m, err := c.hearSoon(sayJoin)
		if err != nil || m.Join == nil { // nobody of ours
			c.close()
			continue
		}
		if err := r.take(c, m.Join); err != nil {
			c.say(message{Kind: sayError, Text: err.Error()})
			c.close()
			return err
		}
		n++
	}
	return nil
}

// A missingError says who has not come. It is filled in where the others are known.
type missingError struct {
	wait  time.Duration
	ranks []string
}

func (r *Ranks) missing(wait time.Duration) error { return &missingError{wait: wait} }

func (e *missingError) find(others []*control) {
	for i, c := range others[1:] {
		if c == nil {
			e.ranks = append(e.ranks, fmt.Sprint(i+1))
		}
	}
}

func (e *missingError) Error() string {
	const named = 8
	list, what := e.ranks, "rank"
	if len(list) > 1 {
		what = "ranks"
	}
	text := strings.Join(list[:min(len(list), named)], ", ")
	if len(list) > named {
		text += fmt.Sprintf(" and %d more", len(list)-named)
	}
	verb := "has"
	if len(list) > 1 {
		verb = "have"
	}
	return fmt.Sprintf("%s %s %s not come within %v", what, text, verb, e.wait)
}

// take gives a rank its place.
func (r *Ranks) take(c *control, j *joining) error {
	who := fmt.Sprintf("rank %d from %s", j.Rank, c.conn.RemoteAddr())
	switch {
	case j.Version != version:
		return fmt.Errorf("%s speaks version %d; expected %d", who, j.Version, version)
	case j.Of != r.job.Ranks:
		return fmt.Errorf("%s was told of %d ranks, and rank 0 of %d", who, j.Of, r.job.Ranks)
	case j.Rank < 1 || j.Rank >= j.Of:
		return fmt.Errorf("%s: expected 1 to %d", who, j.Of-1)
	case r.others[j.Rank] != nil:
		return fmt.Errorf("%s: there is one already, from %s", who, r.others[j.Rank].conn.RemoteAddr())
	}
	r.others[j.Rank] = c
	context.AfterFunc(c.ctx, func() { r.cancel(fmt.Errorf("rank %d: %w", j.Rank, rankError(context.Cause(c.ctx)))) })
	return nil
}

// rankError says what became of a rank, in its own words if it has said any.
func rankError(err error) error {
	var theirs errTheirs
	switch {
	case errors.As(err, &theirs):
		return errors.New(theirs.text)
	case errors.Is(err, errGone):
		return errors.New("it went away")
	}
	return err
}

// introduce tells all ranks of each other.
func (r *Ranks) introduce() (err error) {
	names := make([]string, r.job.Ranks)
	if err := r.all(message{Kind: sayJob, Job: &r.job}, sayOffer, func(i int, m *message) error {
		if m.Offer == nil {
			return errors.New("it makes no offer")
		}
		names[i] = m.Offer.Address
		return nil
	}); err != nil {
		return err
	}
	if r.rank, err = openRank(r.ctx, &r.job, 0, ipOf(r.listener.Addr())); err != nil {
		return err
	}
	names[0] = r.rank.ep.Name()
	if err := r.rank.meet(r.ctx, 0, names); err != nil {
		return err
	}
	return r.all(message{Kind: sayNames, Names: names}, sayReady, nil)
}

// all says something to the other ranks, and hears an answer of each.
func (r *Ranks) all(m message, answer string, take func(rank int, m *message) error) error {
	r.tell(m)
	for i, c := range r.others {
		if c == nil {
			continue
		}
		ctx, cancel := context.WithTimeoutCause(r.ctx, patience, fmt.Errorf("rank %d has said nothing for %v", i, patience))
		a, err := c.hear(ctx, answer)
		cancel()
		if err == nil && take != nil {
			err = take(i, &a)
		}
		if err != nil {
			return r.why(fmt.Errorf("rank %d: %w", i, rankError(err)))
		}
	}
	return nil
}

func (r *Ranks) tell(m message) {
	for _, c := range r.others {
		if c != nil {
			c.say(m) // what fails is noticed where answers are heard
		}
	}
}

// why prefers the reason that all ranks were ended for.
func (r *Ranks) why(err error) error {
	if cause := context.Cause(r.ctx); cause != nil && err != nil {
		return cause
	}
	return err
}

// fail tells the other ranks why it does not go on.
func (r *Ranks) fail(err error) error {
	if err = r.why(err); err != nil {
		r.cancel(err)
		text := err.Error()
		if errors.Is(err, context.Canceled) {
			text = "interrupted"
		}
		r.tell(message{Kind: sayError, Text: text})
	}
	return err
}

// Close lets all ranks go. They answer, so that none finds the connection closed before it has heard why.
func (r *Ranks) Close() {
	if r.rank != nil && r.ctx.Err() == nil {
		r.tell(message{Kind: sayDone})
		ctx, bounded := timeout(goodbye)
		for _, c := range r.others {
			if c != nil {
				c.hear(ctx, sayDone)
			}
		}
		bounded()
	}
	r.cancel(context.Canceled)
	r.listener.Close()
	for _, c := range r.others {
		if c != nil {
			c.close()
		}
	}
	if r.rank != nil {
		r.rank.close()
	}
}

// JoinRanks is another rank than 0: it comes to rank 0, waiting for it not longer than that, and does what it says until
// it lets go. from is the address of this host that it uses; invalid: the one by which rank 0 is reached.
func JoinRanks(ctx context.Context, address string, number, of int, from netip.Addr, wait time.Duration) error {
	conn, err := dialRanks(ctx, address, from, wait)
	if err != nil {
		return err
	}
	c := newControl(context.WithoutCancel(ctx), conn)
	defer c.close()
	defer context.AfterFunc(ctx, func() { c.cancel(context.Canceled) })()
	err = member(c, number, of)
	if err == nil {
		return nil
	}
	err = c.why(err)
	var theirs errTheirs
	switch {
	case errors.As(err, &theirs):
		return fmt.Errorf("rank 0: %s", theirs.text)
	case errors.Is(err, errGone):
		return errors.New("rank 0 went away")
	case errors.Is(err, context.Canceled):
		c.say(message{Kind: sayError, Text: "interrupted"})
		return err
	}
	c.say(message{Kind: sayError, Text: err.Error()})
	return err
}

// knock is how long another rank waits before it tries rank 0 again.
const knock = 100 * time.Millisecond

// dialRanks connects with rank 0, which may not be there yet.
func dialRanks(ctx context.Context, address string, from netip.Addr, wait time.Duration) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var d net.Dialer
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	for last := error(nil); ; {
		conn, err := d.DialContext(limited, "tcp", address)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if limited.Err() == nil {
			last = plain(err)
		} else if last == nil {
			last = errors.New("it does not answer")
		}
		var dns *net.DNSError
		if limited.Err() != nil || errors.As(err, &dns) && dns.IsNotFound {
			return nil, fmt.Errorf("rank 0 is not at %s, after %v: %w", address, wait, last)
		}
		pause(limited, knock)
	}
}

// member does what rank 0 says.
func member(c *control, number, of int) error {
	if err := c.say(message{Kind: sayJoin, Join: &joining{number, of, version}}); err != nil {
		return err
	}
	m, err := c.hear(c.ctx, sayJob) // when all have come
	if err != nil {
		return err
	}
	if m.Job == nil || m.Job.Ranks != of {
		return errors.New("rank 0 does not say what is measured")
	}
	if err := m.Job.Validate(); err != nil {
		return err
	}
	r, err := openRank(c.ctx, m.Job, number, placeOf(c.conn).local)
	if err != nil {
		return err
	}
	defer r.close()
	if err := c.say(message{Kind: sayOffer, Offer: &offer{Address: r.ep.Name()}}); err != nil {
		return err
	}
	if m, err = c.hear(c.ctx, sayNames); err != nil {
		return err
	}
	if len(m.Names) != of {
		return fmt.Errorf("rank 0 names %d endpoints of %d", len(m.Names), of)
	}
	if err := r.meet(c.ctx, number, m.Names); err != nil {
		return err
	}
	if err := c.say(message{Kind: sayReady}); err != nil {
		return err
	}
	for {
		m, err := c.hear(c.ctx, sayBatch, sayDone)
		if err != nil {
			return err
		}
		if m.Kind == sayDone {
			return c.say(m)
		}
		if m.Batch == nil || m.Batch.Size < 0 || m.Batch.Size > MaxCollectiveSize || m.Batch.N < 0 {
			return errors.New("rank 0 asks for no batch")
		}
		measured, err := r.do(c.ctx, m.Batch)
		if err != nil {
			return err
		}
		if err := c.say(message{Kind: sayMeasured, Measured: &measured}); err != nil {
			return err
		}
	}
}
