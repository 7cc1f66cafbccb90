package perf

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Port is the TCP port of control connections, as UET's number is for UDP.
const Port = 4793

// version changes when ends of different age would misunderstand each other.
const version = 1

// Kinds of control messages, in the order in which they are sent.
const (
	sayTest     = "test"     // client: what is measured next
	sayOffer    = "offer"    // server, then client: how this end is reached
	sayReady    = "ready"    // server: it serves
	sayGo       = "go"       // client: it serves, and operations may begin
	sayBegin    = "begin"    // who begins operations: the warm-up is over
	sayEnd      = "end"      // the same: what is measured is over
	sayInterval = "interval" // the server, of its own operations
	sayStop     = "stop"     // client: end early
	sayResult   = "result"   // who began operations
	sayUsage    = "usage"    // who did not, after "end"
	sayDone     = "done"     // client, then server: the test is over
	sayError    = "error"    // either: it cannot go on

	// Between rank 0 and another; after "offer" come all names, and after the last batch "done".
	sayJoin     = "join"     // the other: which one it is
	sayJob      = "job"      // rank 0: what is measured
	sayNames    = "names"    // rank 0: the endpoints of all ranks
	sayBatch    = "batch"    // rank 0: operations to carry out
	sayMeasured = "measured" // the other: what they came to
)

// A message is one line of JSON on a control connection.
type message struct {
	Kind     string    `json:"kind"`
	Version  int       `json:"version,omitempty"` // of sayTest
	Test     *Test     `json:"test,omitempty"`
	Offer    *offer    `json:"offer,omitempty"`
	Interval *Interval `json:"interval,omitempty"`
	Summary  *Summary  `json:"summary,omitempty"`
	Usage    *Usage    `json:"usage,omitempty"`
	Text     string    `json:"text,omitempty"`

	Join     *joining  `json:"join,omitempty"`
	Job      *Job      `json:"job,omitempty"`
	Names    []string  `json:"names,omitempty"`
	Batch    *batch    `json:"batch,omitempty"`
	Measured *Measured `json:"measured,omitempty"`
}

// Bounds of a control connection.
const (
	longestLine = 1 << 20
	patience    = 10 * time.Second // to say the next thing where nothing has to be measured first
	goodbye     = 2 * time.Second  // to tell what was measured, when a test was ended early
)

var errGone = errors.New("the other end went away")

// errTheirs is what the other end said when it could not go on.
type errTheirs struct{ text string }

func (e errTheirs) Error() string { return "the other end: " + e.text }

// A control is a control connection. Its reader cancels ctx when the connection is over, with the reason.
type control struct {
	conn   net.Conn
	ctx    context.Context
	cancel context.CancelCauseFunc
	heard  chan message

	mu  sync.Mutex
	out *json.Encoder
}

func newControl(ctx context.Context, conn net.Conn) *control {
	if c, ok := conn.(*net.TCPConn); ok { // a host that vanished is noticed within 15 s
		c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 5})
	}
	c := &control{conn: conn, heard: make(chan message, 64), out: json.NewEncoder(conn)}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	go c.listen()
	return c
}

func (c *control) close() {
	c.cancel(context.Canceled)
	c.conn.Close()
	for range c.heard { // until the reader has ended
	}
}

func (c *control) listen() {
	defer close(c.heard)
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m.Kind == "" {
			c.cancel(errors.New("what answers does not speak the language of weft perf; is the port right?"))
			return
		}
		if m.Kind == sayError {
			c.cancel(errTheirs{m.Text})
			return
		}
		select {
		case c.heard <- m:
		case <-c.ctx.Done():
			if context.Cause(c.ctx) == context.Canceled {
				return
			}
			select { // what is still said after an interrupt
			case c.heard <- m:
			case <-time.After(goodbye):
				return
			}
		}
	}
	c.cancel(errGone)
}

// say sends a message.
func (c *control) say(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(patience))
	if err := c.out.Encode(m); err != nil {
		if cause := context.Cause(c.ctx); cause != nil {
			return cause
		}
		return errGone
	}
	return nil
}

// hear waits for the next message, and for no other kind than one of those.
func (c *control) hear(ctx context.Context, kinds ...string) (message, error) {
	select {
	case m, open := <-c.heard:
		if !open {
			return m, c.why(errGone)
		}
		for _, kind := range kinds {
			if m.Kind == kind {
				return m, nil
			}
		}
		return m, fmt.Errorf("the other end says %q; expected %q", m.Kind, kinds)
	case <-ctx.Done():
		return message{}, c.why(context.Cause(ctx))
	}
}

// hearSoon is hear that does not wait for long.
func (c *control) hearSoon(kinds ...string) (message, error) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, patience, fmt.Errorf("the other end has said nothing for %v", patience))
	defer cancel()
	return c.hear(ctx, kinds...)
}

// why prefers the reason that the connection is over.
func (c *control) why(err error) error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	return err
}
