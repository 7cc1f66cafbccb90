package referee

import (
	"fmt"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

// An account is what one source was granted by one destination, and what it has sent on it. Until the destination is
// heard of, the source speculates; from then on a packet only leaves while more was granted than spent.
type account struct {
	on      bool // requests carry credit targets
	heard   bool
	life    uint8  // ccc_id: another one begins anew
	granted uint32 // cumulative, as last heard
	total   int64  // bytes granted
	spent   int64  // bytes sent since something was heard, at the least that a packet can count
}

// spend judges a request that needs credit. opens tells whether it is the first of its context, with nothing under way.
func (a *account) spend(p *core.Packet, r *wire.Request, opens func() bool) error {
	if r.Type != wire.TypeRUDCC && r.Type != wire.TypeRODCC {
		return nil
	}
	if !a.on || a.life != r.CCC {
		*a = account{on: true, life: r.CCC}
	}
	if a.heard && a.spent >= a.total && !opens() {
		return fmt.Errorf("PSN %d to %d leaves without credit: %d bytes granted, %d spent", r.PSN, p.To, a.total, a.spent)
	}
	if a.heard {
		a.spent += p.Bytes()
	}
	return nil
}

func (a *account) grant(granted uint32) {
	a.heard = true
	if more := int32((granted-a.granted)<<8) >> 8; more > 0 {
		a.granted = granted & 0xffffff
		a.total += int64(more) * wire.BytesUnit
	}
}
