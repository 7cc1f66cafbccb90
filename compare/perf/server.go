package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// A Server is the other end of Clients. One is served at a time; others are told that it is busy.
type Server struct {
	listener net.Listener
	serving  chan struct{} // full while a client is served
	// Log is told in one line each what happens; nil: nothing.
	Log io.Writer
	// Once ends Serve after the first client.
	Once bool
}

// ListenServer opens the TCP port of a server: "host:port", ":4793".
func ListenServer(ctx context.Context, address string) (*Server, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, plain(err))
	}
	return &Server{listener: l, serving: make(chan struct{}, 1)}, nil
}

// Address is where clients connect.
func (v *Server) Address() string { return v.listener.Addr().String() }

// turn bounds how long a client waits for the one before it to be gone.
const turn = time.Second

// Serve serves until ctx ends, or one client with Once.
func (v *Server) Serve(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { v.listener.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	var once atomic.Pointer[error]
	for {
		conn, failed := v.listener.Accept()
		if ctx.Err() != nil {
			clients.Wait()
			if of := once.Load(); of != nil {
				err = *of
			}
			return err
		}
		if failed != nil {
			return fmt.Errorf("accept: %w", plain(failed))
		}
		serve := func() {
			err := v.client(ctx, conn)
			if v.Once && once.CompareAndSwap(nil, &err) {
				cancel()
			}
			<-v.serving
		}
		select { // here, not in a goroutine: who came first is served first
		case v.serving <- struct{}{}:
			clients.Go(serve)
		default:
			clients.Go(func() { v.wait(ctx, conn, serve) })
		}
	}
}

// wait lets a client wait a little for its turn.
func (v *Server) wait(ctx context.Context, conn net.Conn, serve func()) {
	select {
	case v.serving <- struct{}{}:
		serve()
	case <-time.After(turn):
		c := newControl(ctx, conn)
		c.say(message{Kind: sayError, Text: "the server is busy with another client"})
		c.close()
	case <-ctx.Done():
		conn.Close()
	}
}

func (v *Server) log(format string, args ...any) {
	if v.Log != nil {
		text := fmt.Sprintf(format, args...) // parts of it come from the client
		fmt.Fprintln(v.Log, strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, text))
	}
}

// client serves one client, until it closes its connection.
func (v *Server) client(ctx context.Context, conn net.Conn) error {
	c := newControl(ctx, conn)
	defer c.close()
	p := placeOf(conn)
	idle := time.AfterFunc(patience, func() { c.cancel(errors.New("it asks for nothing")) })
	defer idle.Stop()
	for {
		m, err := c.hear(c.ctx, sayTest)
		idle.Stop()
		if errors.Is(err, errGone) {
			return nil
		}
		if err == nil && (m.Version != version || m.Test == nil) {
			err = fmt.Errorf("it speaks version %d; expected %d", m.Version, version)
		}
		if err == nil {
			err = m.Test.Validate()
		}
		if err != nil {
			return v.dismiss(c, p, err)
		}
		t := m.Test
		v.log("%s: %s %s, %d bytes, %s", p.remote, t.Operation, t.Metric, t.Size, t.Protocol)
		if err := v.test(c, p, t); err != nil {
			v.log("%s: %v", p.remote, err)
			return err
		}
	}
}

// dismiss tells a client why it is not served.
func (v *Server) dismiss(c *control, p place, err error) error {
	if c.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("the server was stopped")
	}
	c.say(message{Kind: sayError, Text: err.Error()})
	v.log("%s: %v", p.remote, err)
	return err
}

// test does the server's part of one Test.
func (v *Server) test(c *control, p place, t *Test) error {
	s := &session{c: c, t: t, server: true, live: func(i Interval) { c.say(message{Kind: sayInterval, Interval: &i}) }}
	defer s.shut()
	err := v.meet(s, p)
	if err == nil {
		err = v.measure(s)
	}
	if err != nil {
		if errors.Is(s.reason(err), context.Canceled) {
			err = errors.New("the server was stopped")
		}
		return s.fail(err)
	}
	return nil
}

func (v *Server) meet(s *session, p place) error {
	if err := s.open(p); err != nil {
		return err
	}
	mine := s.end.offer()
	if err := s.c.say(message{Kind: sayOffer, Offer: &mine}); err != nil {
		return err
	}
	m, err := s.c.hearSoon(sayOffer)
	if err != nil {
		return err
	}
	if err := s.meet(p, m.Offer); err != nil {
		return err
	}
	s.serve()
	if err := s.c.say(message{Kind: sayReady}); err != nil {
		return err
	}
	_, err = s.c.hearSoon(sayGo)
	return err
}

// measure does what the client says until it is done.
func (v *Server) measure(s *session) error {
	ctx, stop := context.WithCancel(s.c.ctx)
	defer stop()
	own := make(chan error, 1)
	initiates := s.t.initiates(true)
	if initiates {
		go func() {
			sum, err := s.measure(ctx)
			if err == nil || ctx.Err() != nil && s.c.ctx.Err() == nil {
				err = s.c.say(message{Kind: sayResult, Summary: &sum, Usage: s.used()})
			}
			if err != nil {
				s.c.say(message{Kind: sayError, Text: err.Error()})
				s.c.cancel(err)
			}
			own <- err
		}()
	} else {
		own <- nil
	}
	for {
		m, err := s.c.hear(s.c.ctx, sayBegin, sayEnd, sayStop, sayDone)
		if err != nil {
			stop()
			<-own
			return err
		}
		switch m.Kind {
		case sayBegin:
			if !initiates {
				s.mark(true)
			}
		case sayEnd:
			if initiates {
				continue
			}
			s.mark(false)
			if err := s.c.say(message{Kind: sayUsage, Usage: s.used()}); err != nil {
				return err
			}
		case sayStop:
			stop()
		case sayDone:
			if err := <-own; err != nil {
				return err
			}
			s.stop(context.Canceled)
			return s.c.say(message{Kind: sayDone})
		}
	}
}
