package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire"
)

// Reasons of failure.
var (
	ErrClosed      = errors.New("endpoint is closed")
	ErrUnreachable = errors.New("peer does not answer")
	ErrReset       = errors.New("peer closed the context in error")
	ErrRefused     = errors.New("peer refused the access") // one of the three below, or a reason that is in the text
	ErrKey         = errors.New("no memory with that key")
	ErrPermission  = errors.New("access is not permitted")
	ErrBounds      = errors.New("outside of the memory")
	ErrNotReady    = errors.New("peer has no receive for the message")
	ErrTooLong     = errors.New("message too long")
	ErrBusy        = errors.New("too many operations under way") // or too many peers
	ErrAddress     = errors.New("no such peer")
	ErrConfig      = errors.New("wrong configuration")
	ErrPeerClosed  = errors.New("peer was closed here") // Peer.Close: another Dial is needed
)

// Reasons why Listen fails, besides ErrConfig.
var (
	ErrInUse        = udp.ErrInUse      // another program has the ports
	ErrNotPermitted = udp.ErrPermission // to open such sockets
	ErrMTU          = udp.ErrMTU        // of an interface, too small for any packet or for the one that was asked for
	ErrNotLocal     = udp.ErrWildcard   // the address is not one of this host's interfaces
	ErrSystem       = udp.ErrSystem     // the operating system lacks what was asked for, or refuses: too many open files
)

// An OpError says which operation with which peer failed, and why.
type OpError struct {
	Op     Op
	Peer   string          // its name; empty where there is none
	Remote wire.ReturnCode // what the peer answered, with ErrRefused
	Err    error           // one of the Err values, or that of a context
}

func (e *OpError) Error() string {
	text := "transport: " + e.Op.String()
	if e.Peer != "" {
		text += " " + e.Peer
	}
	text += ": " + e.Err.Error()
	if errors.Is(e.Err, ErrRefused) && e.Remote != wire.RCNull {
		text += " (" + e.Remote.String() + ")"
	}
	return text
}

func (e *OpError) Unwrap() error { return e.Err }

// Timeout tells whether a deadline was the reason, as net.Error has it.
func (e *OpError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// Temporary is there for net.Error; it says what Retryable says.
func (e *OpError) Temporary() bool { return Retryable(e) }

// Retryable tells whether the same call may succeed later: the peer was busy or away, or nobody was listening yet.
func Retryable(err error) bool {
	for _, passing := range [...]error{ErrUnreachable, ErrNotReady, ErrBusy, ErrReset, ErrRefusedStream, ErrInUse} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// refusedToOpen names why there are no sockets.
func refusedToOpen(err error) error {
	if errors.Is(err, udp.ErrConfig) {
		return wrap{ErrConfig, err}
	}
	for _, known := range [...]error{ErrInUse, ErrNotPermitted, ErrMTU, ErrNotLocal, ErrSystem} {
		if errors.Is(err, known) {
			return err
		}
	}
	return wrap{ErrSystem, err}
}

// mistake names what the protocol finds wrong with a call. Its text is the bare reason: who sends what to whom, which core
// says in numbers, is in the OpError.
func mistake(err error) error {
	if err == nil {
		return nil
	}
	if bare := errors.Unwrap(err); bare != nil {
		err = bare
	}
	if errors.Is(err, core.ErrDatagram) {
		return wrap{ErrTooLong, err}
	}
	return wrap{ErrConfig, err}
}

// A wrap is an error of another package under the name that it has here.
type wrap struct{ is, cause error }

func (w wrap) Error() string   { return strings.ReplaceAll(w.cause.Error(), "\n", "; ") } // one line, also of several causes
func (w wrap) Unwrap() []error { return []error{w.is, w.cause} }

// reason turns what an event says into an error; nil if all went well.
func reason(v *core.Event) error {
	switch v.Err {
	case core.NoError:
		return nil
	case core.RetryExceeded:
		return ErrUnreachable
	case core.RemoteError:
		return refusal(v.Remote)
	case core.NotReady:
		return ErrNotReady
	case core.TooLong:
		return ErrTooLong
	case core.Cancelled:
		return context.Canceled
	}
	return ErrReset
}

func refusal(code wire.ReturnCode) error {
	switch code {
	case wire.RCBadMKey:
		return fmt.Errorf("%w: %w", ErrRefused, ErrKey)
	case wire.RCPermViolation:
		return fmt.Errorf("%w: %w", ErrRefused, ErrPermission)
	case wire.RCBadAddr:
		return fmt.Errorf("%w: %w", ErrRefused, ErrBounds)
	}
	return ErrRefused
}
