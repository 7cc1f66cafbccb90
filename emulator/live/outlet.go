package live

import "sync"

// An outlet is where datagrams leave the network for programs that have sockets of the system. The loop writes what the network
// has delivered, several at a time and without waiting, as it does for a TUN: no other thread has to be woken for them. When
// the system has no room, or cannot be asked so, a goroutine waits, and writes in its turn what came meanwhile.
type outlet struct {
	fabric  *Fabric
	sink    sink
	refused func(int) // counts what the system did not take
	all     *sync.WaitGroup

	// guarded by mu of the fabric
	leaving []leaving
	spare   []leaving // for the next ones while somebody writes those
	busy    bool      // a goroutine writes
	gone    bool
}

// A leaving datagram has left the network by a Conn, whose place in the buffer it keeps until it is written.
type leaving struct {
	parcel *parcel
	by     *Conn
}

// A sink takes datagrams, a socket of the system does.
type sink interface {
	// try writes without waiting, and returns how many at the front were dealt with and how many of these were refused.
	try(all []leaving) (done, refused int)
	// write waits while there is no room, and returns how many were refused.
	write(all []leaving) (refused int)
}

// take takes a datagram from the loop, and false says that it does not.
func (o *outlet) take(p *parcel, by *Conn) bool {
	if o.gone {
		return false
	}
	if len(o.leaving) == 0 {
		o.fabric.full = append(o.fabric.full, o)
	}
	o.leaving = append(o.leaving, leaving{p, by})
	by.held.Add(1)
	return true
}

// flush implements flusher.
func (o *outlet) flush() {
	if o.busy || o.gone {
		return
	}
	done, refused := o.sink.try(o.leaving)
	o.written(o.leaving[:done], refused)
	rest := copy(o.leaving, o.leaving[done:])
	if o.leaving = o.leaving[:rest]; rest > 0 {
		o.busy = true
		o.all.Go(o.pump)
	}
}

// written gives back what datagrams held.
func (o *outlet) written(all []leaving, refused int) {
	if refused > 0 {
		o.refused(refused)
	}
	for i := range all {
		all[i].by.held.Add(-1)
		o.fabric.drop(all[i].parcel)
		all[i] = leaving{}
	}
}

// pump writes until nothing is left.
func (o *outlet) pump() {
	for {
		all := o.next()
		if all == nil {
			return
		}
		o.written(all, o.sink.write(all))
		o.fabric.mu.Lock()
		o.spare = all[:0]
		o.fabric.mu.Unlock()
	}
}

// next returns what the pump shall write, and nil at its end.
func (o *outlet) next() (all []leaving) {
	o.fabric.mu.Lock()
	defer o.fabric.mu.Unlock()
	if len(o.leaving) == 0 {
		o.busy = false
		return nil
	}
	all, o.leaving, o.spare = o.leaving, o.spare[:0], nil
	return all
}

// close ends it, and loses what was not written yet. The socket is closed behind it.
func (o *outlet) close() {
	o.fabric.mu.Lock()
	defer o.fabric.mu.Unlock()
	o.gone = true
	o.written(o.leaving, len(o.leaving))
	o.leaving = o.leaving[:0]
}
