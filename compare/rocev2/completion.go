package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// A Status says how a work request ended, in the words of verbs.
type Status uint8

// Ways to end.
const (
	Success                Status = iota
	LocalLength                   // a SEND was longer than the receive
	RetryExceeded                 // the peer does not answer
	RNRRetryExceeded              // the peer had no receive, again and again
	RemoteInvalidRequest          // NAK: the request makes no sense to the peer
	RemoteAccessError             // NAK: key, address or rights
	RemoteOperationalError        // NAK: the peer could not do it
	Flushed                       // behind something that failed, or the queue pair was over already
)

var statusNames = [...]string{"success", "local length error", "transport retry counter exceeded", "RNR retry counter exceeded",
	"remote invalid request error", "remote access error", "remote operational error", "work request flushed error"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown status"
}

// code returns the same in the words of core.
func (s Status) code() core.ErrCode {
	switch s {
	case Success:
		return core.NoError
	case RetryExceeded, RNRRetryExceeded:
		return core.RetryExceeded
	case Flushed:
		return core.ClosedInError
	}
	return core.RemoteError
}

// refusal returns the status that a fatal NAK stands for.
func refusal(s wire.Syndrome) Status {
	switch s {
	case wire.NakRemoteAccess:
		return RemoteAccessError
	case wire.NakRemoteOperate:
		return RemoteOperationalError
	}
	return RemoteInvalidRequest
}

// A Completion tells that a work request or a receive has ended.
type Completion struct {
	QP     QueuePair
	Verb   Verb // what was asked for; Receive for receives
	Status Status
	At     Time
	Length uint64 // bytes sent, read or received
	Cookie uint64 // of the WorkRequest or Buffer

	// Of a receive.
	Opcode    wire.Opcode // last packet of what came: SEND or WRITE, with immediate, with invalidate or without
	Immediate uint32      // immediate data, or the R_Key that was invalidated
	Solicited bool
	From      core.Addr // of a datagram: who sent it,
	FromQPN   uint32    // and on which queue pair

	Original uint64 // atomics: the value before
}

func (h *Host) complete(c Completion) { h.completions = append(h.completions, c) }

// Completions moves waiting completions into buf, oldest first, and returns how many.
func (h *Host) Completions(buf []Completion) int {
	n := copy(buf, h.completions)
	rest := copy(h.completions, h.completions[n:])
	h.completions = h.completions[:rest]
	return n
}

// completeWork reports a posted message, once.
func (h *Host) completeWork(now Time, m *message) {
	w := &h.works[m.work]
	c := Completion{QP: QueuePair(w.qp), Verb: w.verb, Status: w.status, At: now, Cookie: m.cookie, Original: w.original}
	if w.status == Success {
		c.Length = m.length
	}
	h.complete(c)
	w.next, h.freeWork = h.freeWork, m.work
	m.work = 0
}
