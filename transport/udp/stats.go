package udp

import (
	"math/bits"
	"time"
)

// A Drop is a reason why a datagram went no further in this carrier.
type Drop uint8

// Reasons to drop.
const (
	NoPeer      Drop = iota // to an address that no peer has
	TooBig                  // longer than MaxDatagram, or than the path takes (EMSGSIZE)
	Unreachable             // no route, or the interface is down
	SendError               // any other error of sending
	Unknown                 // from a peer that nobody named, and learning is off or the table is full
	Malformed               // cannot be split into header and payload
	Truncated               // longer than the receive buffer
	BadChecksum             // handed on as damaged: the Stack counts it too
	FateDrop                // Config.Fate
	NumDrops    = int(FateDrop) + 1
)

func (d Drop) String() string {
	return [...]string{"no such peer", "too big", "unreachable", "send error", "unknown peer", "malformed", "truncated", "bad checksum", "fate"}[d]
}

// Stats are a carrier's totals since the start, and what its system grants.
type Stats struct {
	Sent, Received           uint64 // datagrams
	SentBytes, ReceivedBytes uint64 // behind the UDP header
	SendCalls, ReceiveCalls  uint64 // system calls
	EmptyCalls               uint64 // of ReceiveCalls, those that found nothing
	Sleeps                   uint64
	SendBusy                 uint64 // times that a socket took no more
	Drops                    [NumDrops]uint64
	Overflow                 uint64 // datagrams that the kernel dropped before a full receive buffer (SO_RXQ_OVFL)
	Learnt, Forgotten        uint64 // peers
	Peers                    int    // known now

	// Bursts counts messages sent by number of datagrams: at i those of more than 2^(i-1) and at most 2^i.
	Bursts [8]uint64
	// Joined counts messages received by number of datagrams, as the kernel joined them.
	Joined [8]uint64
	// Lateness is how long after its deadline the loop came to HandleTimeout.
	Lateness Histogram

	GSO, GRO, Batch bool // in use; they switch themselves off when the system refuses them
	Stamps          bool
	ECN             bool // code points are set and read
	SocketBuffer    int  // bytes of receive buffer granted, of the smallest rail
	Lanes           int  // source ports in use on rail 0: fewer than asked for if others were taken
}

// step returns the index of a number of datagrams in Bursts and Joined.
func step(n int) int { return min(bits.Len(uint(max(n, 1)-1)), 7) }

// A Histogram counts durations in buckets that are a quarter of an octave wide.
type Histogram struct {
	counts [160]uint32
	n      uint64
	max    time.Duration
}

func (h *Histogram) add(d time.Duration) {
	d = max(d, 0)
	h.n++
	h.max = max(h.max, d)
	h.counts[bucket(d)]++
}

func bucket(d time.Duration) int {
	if d < 4 {
		return int(d)
	}
	octave := bits.Len64(uint64(d)) - 1
	return min(4*octave-4+int(d>>(octave-2)&3), len(Histogram{}.counts)-1)
}

// Count returns how many durations were counted.
func (h *Histogram) Count() uint64 { return h.n }

// Max returns the longest.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns an upper bound of the q-quantile, at most a fifth above it; 0 if nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := uint64(q * float64(h.n))
	for i, c := range h.counts {
		if uint64(c) > rank {
			return min(upper(i), h.max)
		}
		rank -= uint64(c)
	}
	return h.max
}

// upper returns the largest duration of a bucket.
func upper(i int) time.Duration {
	if i < 4 {
		return time.Duration(i)
	}
	octave := (i + 4) / 4
	return time.Duration(uint64(4+i%4+1)<<(octave-2)) - 1
}
