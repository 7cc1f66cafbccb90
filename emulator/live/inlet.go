package live

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/weft-transport/weft/transport/core"
)

// An inlet is where datagrams of programs that have sockets of the system enter the network. Those that one call of the system
// brings enter together, each with the instant at which the system had it: what it waited for is lateness.
type inlet struct {
	fabric *Fabric
	socket *socket
	route  func(from *peer) (src, dst *Conn) // nil: the datagram is for nobody
	lost   func(int)                         // counts what did not enter
	number int32                             // of the lookout

	waiting []entering    // for room in front of the link
	passing []*parcel     // scratch
	stuck   bool          // there was none
	waited  time.Duration // until then, since the fabric began: waiting for the link is the network's
	paid    bool          // the first has its room: see lookouts that wait for it
}

// An entering datagram is on its way from the system to the network.
type entering struct {
	parcel *parcel
	src    *Conn
}

// carry carries what one call of the system brings into the network, or as far as there is room. false: the socket is closed.
func (i *inlet) carry(in *intake) bool {
	err := i.socket.read(in)
	switch {
	case errors.Is(err, net.ErrClosed):
		return false
	case err != nil && !errors.Is(err, syscall.ECONNREFUSED): // that nobody listens at the other end passes, and lost nothing
		i.lost(1)
	case len(in.datagrams) > 0:
		now := i.fabric.since()
		for _, d := range in.datagrams {
			i.enter(d, now)
		}
		i.pass()
	}
	return true
}

func (i *inlet) enter(d datagram, now time.Duration) {
	src, dst := i.route(d.from)
	if src == nil || d.cut || len(d.bytes) > MaxDatagram {
		i.lost(1)
		return
	}
	p := i.fabric.newParcel(len(d.bytes))
	copy(p.bytes, d.bytes)
	p.from, p.to, p.srcPort, p.dstPort = src.gate.host, dst.gate.host, src.port, dst.port
	p.ecn, p.dscp, p.class, p.headers = core.NotECT, d.dscp, i.fabric.cfg.ClassOf[d.dscp], ipUDP
	p.stamp = now - d.age
	i.waiting = append(i.waiting, entering{p, src})
}

// pass hands the loop what there is room for, and tells whether that is all.
func (i *inlet) pass() bool {
	n := 0
loop:
	for ; n < len(i.waiting); n++ {
		p, src := i.waiting[n].parcel, i.waiting[n].src
		switch {
		case src.ended() != nil:
			if i.paid {
				i.giveBack(p, src.gate)
			}
			i.fabric.drop(p)
			i.lost(1)
		case i.paid || src.gate.holds(p.class, p.size()):
			if i.stuck {
				i.stuck, i.waited = false, i.fabric.since()
			}
			p.stamp = max(p.stamp, i.waited)
			i.passing = append(i.passing, p)
		default:
			i.stuck = true
			break loop
		}
		i.paid = false
	}
	i.waiting = append(i.waiting[:0], i.waiting[n:]...)
	if len(i.passing) > 0 && i.fabric.hand(i.passing...) != nil {
		i.lost(len(i.passing))
	}
	i.passing = i.passing[:0]
	return len(i.waiting) == 0
}

func (i *inlet) giveBack(p *parcel, g *gate) {
	i.fabric.mu.Lock()
	defer i.fabric.mu.Unlock()
	g.give(p.class, int64(p.size()))
}

// free tells that there is room for the first that waits, or it need not wait.
func (i *inlet) free() bool {
	if len(i.waiting) == 0 {
		return true
	}
	w := i.waiting[0]
	return w.src.ended() != nil || w.src.gate.rooms[w.parcel.class].left.Load() >= w.src.gate.need(w.parcel.size())
}
