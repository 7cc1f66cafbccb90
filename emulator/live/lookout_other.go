//go:build !linux

package live

// A lookout reads the sockets that datagrams enter the network by, with a goroutine for each.
type lookout struct{}

func newLookout() (*lookout, error) { return new(lookout), nil }

// add begins to read from the socket of an inlet, until it is closed.
func (*lookout) add(i *inlet) error {
	go func() {
		in := newIntake()
		for i.carry(in) {
			for !i.pass() {
				first := i.waiting[0]
				i.paid = first.src.gate.take(first.parcel.class, first.parcel.size(), first.src) == nil
			}
		}
	}()
	return nil
}

func (*lookout) remove(*inlet) {}

// The loop has no part in it.
func (*lookout) peek() bool { return false }
func (*lookout) poll()      {}
func (*lookout) close()     {}
