package perf

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/param"
)

// An end is one side of one Test over one protocol: where its operations begin, or what they find. Methods that take
// the number of a flow are called once for each.
type end interface {
	// offer is what the other end must know before it can begin.
	offer() offer
	// meet takes the other end's offer.
	meet(ctx context.Context, o offer) error
	// source returns what begins operations of a flow with Depth under way.
	source(ctx context.Context, flow int) (source, error)
	// pinger returns a function that carries out one operation, and waits for its answer if the Test is a ping-pong.
	pinger(ctx context.Context, flow int) (func() error, error)
	// serve does what a flow needs at the other end of source or pinger, until ctx ends.
	serve(ctx context.Context, flow int) error
	// counters returns the totals of this end.
	counters() Counters
	close() error
}

// A source keeps operations of a flow under way. One goroutine uses it.
type source interface {
	// post begins up to n operations and returns how many.
	post(n int) (int, error)
	// wait returns how many have ended since the last call, and waits for at least one.
	wait() (int, error)
	// finish waits until the other end has all that was sent, where the end of an operation does not say so.
	finish() error
}

// An offer is what one end tells the other.
type offer struct {
	Address string   `json:"address,omitempty"` // where packets go; the host part may be empty: that of the control connection
	Keys    []uint64 `json:"keys,omitempty"`    // of memory, one a flow
	Secret  []byte   `json:"secret,omitempty"`  // certificate of QUIC
}

// A place is where an end opens its sockets.
type place struct {
	local  netip.Addr // of this host, as the control connection uses it
	remote netip.Addr
	server bool
}

// port returns the port to listen on.
func (p place) port(t *Test) uint16 {
	if p.server {
		return t.DataPort
	}
	return 0
}

// stream numbers the draws of the impairment of this end.
func (p place) stream() uint64 {
	if p.server {
		return 2
	}
	return 1
}

// A protocol is a choice of transport with its parameters.
type protocol struct {
	operations []string // that it has
	impairs    bool     // loss and delay can be switched on inside
	differs    string   // what a reader of a comparison must know
	open       func(ctx context.Context, p place, t *Test) (end, error)
	// listen opens an endpoint of the library, for collectives; nil: there is none.
	listen func(ctx context.Context, address string, c transport.Config) (*transport.Endpoint, error)
}

// Protocols are those that can be measured over sockets.
var Protocols = param.Registry[*protocol]{Noun: "protocol over sockets"}

// DefaultOperation is what is measured of a protocol, given as a SPEC, when nobody says what.
func DefaultOperation(spec string) (string, error) {
	p, _, err := lookup(spec)
	if err != nil {
		return "", err
	}
	return p.operations[0], nil
}

func lookup(text string) (*protocol, string, error) {
	spec, err := scenario.ParseSpec(text)
	if err != nil {
		return nil, "", fmt.Errorf("--protocol: %w", err)
	}
	p, _, err := Protocols.Make(spec.Name, spec.Given)
	if err != nil {
		return nil, "", fmt.Errorf("--protocol: %w", err)
	}
	return p, spec.Name, nil
}

// protocol returns what the SPEC of a Test names.
func (t *Test) protocol() (*protocol, error) {
	p, name, err := lookup(t.Protocol)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(p.operations, t.Operation) {
		return nil, fmt.Errorf("--test %s: %s has only %s", t.Operation, name, strings.Join(p.operations, ", "))
	}
	if t.Impairment.On() && !t.Outside && !p.impairs {
		return nil, fmt.Errorf("--loss, --delay, --reorder, --duplicate: not with %s, whose packets the kernel sends; expected uet, rocev2 or quic", name)
	}
	return p, nil
}
