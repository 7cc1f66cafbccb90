package core

// A Driver runs one Host for an application: it owns the clock, moves the packets, and calls the
// Host from one place only, so that the Host needs no lock. The socket carrier (transport/udp) is a
// Driver in wall-clock time and a host of the fabric is one in virtual time, so that an application
// written against package transport runs over either.
//
// The rule that makes both possible: application goroutines touch the Host inside Do and nowhere else,
// and wait in a Waiter and nowhere else. In virtual time the fabric stands still while an
// application's goroutine runs, and goes on when all of them wait.
type Driver interface {
	// Self is the address of this host.
	Self() Addr
	// Resolve returns the address behind a name, such as "10.0.0.2:4793" on sockets, and makes it
	// known: packets can be sent to it from then on.
	Resolve(name string) (Addr, error)
	// Name is the inverse of Resolve, for messages and statistics.
	Name(Addr) string
	// MTU is the most that Packet.Bytes may be.
	MTU() int
	// Remote is where the payloads of packets from that address are read during HandlePacket:
	// what the Config of a Host takes as Remote.
	Remote(owner Addr) Memory
	// Start begins to drive h, once. notify, if not nil, is called where h is driven, whenever h may
	// have Events, and must not block.
	Start(h Stack, notify func(now Time)) error
	// Now returns the present instant.
	Now() Time
	// Do runs f where h is driven and returns when it has returned; what f made sendable is sent. It
	// must not be called from f or notify. The error says that the driver is closed.
	Do(f func(now Time)) error
	// Waiter returns a new place for one goroutine to wait in.
	Waiter() Waiter
	// Close stops driving, waits until no call into h is under way, and gives everything back.
	Close() error
}

// A Forgetter is a Driver that keeps something of each peer.
type Forgetter interface {
	// Forget gives back what is kept of a peer: packets to it are lost until Resolve makes it known again, or it sends
	// something itself. It is called where the Host is driven.
	Forget(Addr)
}

// A Waiter lets one goroutine sleep until another, or the Host's notify, wakes it.
type Waiter interface {
	// Wait returns true when Wake was called since the last Wait, and false at until.
	Wait(until Time) bool
	// Wake never blocks, and is not lost when nobody waits.
	Wake()
}
