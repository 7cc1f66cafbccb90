package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// A Client measures with a Server.
type Client struct {
	c *control
	p place
}

// Dial connects with a server at "host" or "host:port".
func Dial(ctx context.Context, server string) (*Client, error) {
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(server, strconv.Itoa(Port))
	}
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, fmt.Errorf("no weft perf server at %s: %w", server, plain(err))
	}
	return &Client{newControl(context.WithoutCancel(ctx), conn), placeOf(conn)}, nil
}

// plain takes off of an error what a caller says itself.
func plain(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}

func placeOf(conn net.Conn) place {
	return place{local: ipOf(conn.LocalAddr()), remote: ipOf(conn.RemoteAddr())}
}

func ipOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// Close ends the connection.
func (k *Client) Close() { k.c.close() }

// Run measures once. live is called for Intervals while it does; nil: they are dropped. When ctx ends, the test ends, and
// the Result holds what was measured so far; it does so for any error if Result.Total has operations.
func (k *Client) Run(ctx context.Context, t Test, live func(Interval)) (r Result, err error) {
	if err := t.Validate(); err != nil {
		return r, err
	}
	if live == nil {
		live = func(Interval) {}
	}
	r.Test, r.RoundTrips = t, t.Metric == Latency && !t.answered()
	s := &session{c: k.c, t: &t, live: live}
	defer s.shut()
	if err := k.meet(s); err != nil {
		return r, s.fail(err)
	}
	if err := k.measure(ctx, s, &r, live); err != nil {
		return r, s.fail(err)
	}
	return r, context.Cause(ctx)
}

// meet has both ends opened and told of each other.
func (k *Client) meet(s *session) error {
	if err := k.c.say(message{Kind: sayTest, Version: version, Test: s.t}); err != nil {
		return err
	}
	m, err := k.c.hearSoon(sayOffer)
	if err != nil {
		return err
	}
	if err := s.open(k.p); err != nil {
		return err
	}
	if err := s.meet(k.p, m.Offer); err != nil {
		return err
	}
	mine := s.end.offer()
	if err := k.c.say(message{Kind: sayOffer, Offer: &mine}); err != nil {
		return err
	}
	if _, err = k.c.hearSoon(sayReady); err != nil {
		return err
	}
	s.serve()
	return k.c.say(message{Kind: sayGo})
}

// meet takes an offer, at either end.
func (s *session) meet(p place, o *offer) error {
	if o == nil {
		return errors.New("the other end makes no offer")
	}
	full := *o
	if host, port, err := net.SplitHostPort(o.Address); err == nil && host == "" {
		full.Address = net.JoinHostPort(p.remote.String(), port)
	}
	return s.end.meet(s.c.ctx, full)
}

// measure does the client's part and collects the server's.
func (k *Client) measure(ctx context.Context, s *session, r *Result, live func(Interval)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(k.c.ctx, func() { cancel(context.Cause(k.c.ctx)) })()
	type outcome struct {
		s   Summary
		err error
	}
	own := make(chan outcome, 1)
	if s.t.initiates(false) {
		go func() {
			sum, err := s.measure(ctx)
			if err != nil && ctx.Err() == nil {
				select { // a server that goes away may break the data first
				case <-k.c.ctx.Done():
				case <-time.After(moment):
				}
				k.c.cancel(err)
			}
			own <- outcome{sum, err}
		}()
	} else {
		close(own)
	}
	theirs := s.t.initiates(true)
	soon := context.Background()
	stopped := context.AfterFunc(ctx, func() { k.c.say(message{Kind: sayStop}) })
	defer stopped()
	var failed error
	for waiting := true; waiting; {
		// The server's part ends with its result, or with its usage if it has none.
		listen, bounded := soon, func() {}
		if ctx.Err() != nil {
			listen, bounded = timeout(goodbye)
		}
		m, err := k.next(listen, ctx)
		bounded()
		switch {
		case err == errInterrupted:
			continue
		case err != nil:
			failed, waiting = err, false
		case m.Kind == sayInterval && m.Interval != nil:
			m.Interval.FromServer = true
			live(*m.Interval)
		case m.Kind == sayBegin, m.Kind == sayEnd:
			if !s.t.initiates(false) {
				s.mark(m.Kind == sayBegin)
			}
		case m.Kind == sayResult && m.Summary != nil && m.Usage != nil:
			r.ToClient, r.Server = m.Summary, *m.Usage
			waiting = false
		case m.Kind == sayUsage && m.Usage != nil:
			r.Server = *m.Usage
			waiting = theirs
		default:
			failed, waiting = fmt.Errorf("the server says %q while it measures", m.Kind), false
		}
	}
	if failed != nil {
		cancel(failed)
	}
	if o, mine := <-own; mine {
		r.ToServer = &o.s
		if failed == nil && o.err != nil && !errors.Is(o.err, context.Canceled) {
			failed = o.err
		}
	}
	r.Client = *s.used()
	if failed != nil {
		return failed
	}
	if err := k.c.say(message{Kind: sayDone}); err != nil {
		return err
	}
	s.stop(context.Canceled)
	_, err := k.c.hearSoon(sayDone)
	return err
}

// moment is how long the control connection has to say why the data broke.
const moment = time.Second

var errInterrupted = errors.New("interrupted")

// next waits for a message; errInterrupted: ctx has ended since, and there is only a little time left.
func (k *Client) next(listen, ctx context.Context) (message, error) {
	interrupted := ctx.Done()
	if ctx.Err() != nil {
		interrupted = nil
	}
	select {
	case m, open := <-k.c.heard:
		if !open {
			return m, k.c.why(errGone)
		}
		return m, nil
	case <-interrupted:
		return message{}, errInterrupted
	case <-k.c.ctx.Done():
		return message{}, k.c.why(nil)
	case <-listen.Done():
		return message{}, k.c.why(errors.New("the other end does not say what it has measured"))
	}
}

func timeout(d time.Duration) (context.Context, func()) {
	return context.WithTimeout(context.Background(), d)
}
