package referee

import (
	"fmt"
	"math/bits"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

// A UET holds endpoints to the rules of Ultra Ethernet's packet delivery contexts:
//
//	source   PSNs are used in order, each for one packet; nothing is sent again that is known to have arrived, and
//	         nothing without a NACK, or as much time since it was last sent as its loss rules allow; a packet that
//	         was NACKed goes out again before its source runs dry
//	target   the cumulative acknowledgement, the selective map, the byte count and the out-of-order count say
//	         what has arrived, exactly; a packet that asks for it is acknowledged, and a trimmed one refused, before
//	         the target rests
type UET struct {
	MPR     int                           // PSNs taken beyond the first missing one
	MinWait func(from, to core.Addr) Time // least time after which a packet may be held lost without a NACK
	Paced   bool                          // the rate alone may hold a packet back

	contexts map[contextKey]*context
	pairs    map[pairKey]*pair
	of       map[core.Addr][]*pair    // by source
	owing    map[core.Addr][]*context // targets that owe answers
}

type contextKey struct {
	from, to core.Addr
	id       uint16 // of the source
}

type pairKey struct{ from, to core.Addr }

// A pair is what all contexts from one host to another have under way: they share a window.
type pair struct {
	key      pairKey
	inFlight int // sent, not known to have arrived, not refused
	waits    int // refused and not sent again
	credit   account
}

type context struct {
	key     contextKey
	pair    *pair
	start   uint32
	ordered bool
	closed  bool

	// At the source.
	sent    []record
	una     int // everything before is known to have arrived
	again   int
	againAt Time
	overdue Time // when the oldest packet had last waited for a timeout

	// At the target.
	arrived []bool
	greeted bool // something has arrived
	count   int  // of arrived, beyond expect
	expect  int
	units   uint32
	trimmed []bool // arrived without payload
	owed    []int
}

// NewUET returns rules for contexts that take mpr PSNs beyond the first missing one.
func NewUET(mpr int, minWait func(from, to core.Addr) Time, paced bool) *UET {
	return &UET{MPR: mpr, MinWait: minWait, Paced: paced, contexts: make(map[contextKey]*context),
		pairs: make(map[pairKey]*pair), of: make(map[core.Addr][]*pair), owing: make(map[core.Addr][]*context)}
}

func (u *UET) pair(from, to core.Addr) *pair {
	key := pairKey{from, to}
	p := u.pairs[key]
	if p == nil {
		p = &pair{key: key}
		u.pairs[key] = p
		u.of[from] = append(u.of[from], p)
	}
	return p
}

// Sent implements Rules.
func (u *UET) Sent(now Time, host core.Addr, p *core.Packet) error {
	b := p.Header[:p.HeaderLen]
	prologue, why := wire.ParsePrologue(b)
	if why != wire.OK {
		return fmt.Errorf("a packet to %d that cannot be read: %v", p.To, why)
	}
	switch t := prologue.Type(); {
	case t.IsRequest():
		return u.requested(now, p, b)
	case t == wire.TypeAckCC:
		a, why := wire.ParseAckCC(b)
		if why != wire.OK {
			return fmt.Errorf("an ACK to %d that cannot be read: %v", p.To, why)
		}
		if c := u.contexts[contextKey{p.To, p.From, a.DPDCID}]; c != nil && !c.closed {
			return u.acknowledged(c, &a)
		}
	case t == wire.TypeNack:
		n, why := wire.ParseNack(b)
		if why != wire.OK {
			return fmt.Errorf("a NACK to %d that cannot be read: %v", p.To, why)
		}
		if c := u.contexts[contextKey{p.To, p.From, n.DPDCID}]; c != nil && !c.closed {
			return u.refused(c, &n)
		}
	case t == wire.TypeControl:
		if h, why := wire.ParseControl(b); why == wire.OK && h.Control == wire.ControlClose {
			u.close(contextKey{p.From, p.To, h.SPDCID})
		}
	}
	return nil
}

// close ends a context: nothing is said of it any more.
func (u *UET) close(key contextKey) {
	c := u.contexts[key]
	if c == nil || c.closed {
		return
	}
	c.closed = true
	for k := range c.sent {
		c.forget(k)
	}
}

// forget takes a PSN out of what is under way.
func (c *context) forget(k int) {
	e := &c.sent[k]
	if e.waits {
		c.pair.waits--
	}
	if e.flying {
		c.pair.inFlight--
	}
	e.known, e.waits, e.flying = true, false, false
}

// requested judges a data packet of a source.
func (u *UET) requested(now Time, p *core.Packet, b []byte) error {
	r, why := wire.ParseRequest(b)
	if why != wire.OK {
		return fmt.Errorf("a request to %d that cannot be read: %v", p.To, why)
	}
	s, why := wire.ParseStandard(b[r.Size():])
	if why != wire.OK {
		return fmt.Errorf("a request to %d that cannot be read: %v", p.To, why)
	}
	c := u.context(p, &r)
	if c == nil {
		return fmt.Errorf("PSN %d of context %d to %d, without a first packet that tells the start", r.PSN, r.SPDCID, p.To)
	}
	opens := func() bool { return r.Flags&wire.RequestSyn != 0 && u.quiet(now, c.pair) }
	if err := c.pair.credit.spend(p, &r, opens); err != nil {
		return err
	}
	k := int(int32(r.PSN - c.start))
	carries := bundle{message: uint64(s.MessageID)<<8 | uint64(s.Flags), offset: uint64(s.MessageOffset), length: p.Payload.Length,
		buffer: p.Payload.Buffer, source: p.Payload.Offset}
	retx := r.Flags&wire.RequestRetx != 0
	switch {
	case k < 0 || k > len(c.sent):
		return fmt.Errorf("PSN %d to %d, where %d is next", r.PSN, p.To, c.start+uint32(len(c.sent)))
	case (k < len(c.sent)) != retx:
		return fmt.Errorf("PSN %d to %d is marked as sent again: %v", r.PSN, p.To, retx)
	case retx:
		return u.sentAgain(now, c, k, carries)
	}
	c.sent = append(c.sent, record{carries: carries, at: now, times: 1, refused: longAgo, flying: true})
	c.pair.inFlight++
	return nil
}

// context finds the context of a request, or begins it.
func (u *UET) context(p *core.Packet, r *wire.Request) *context {
	key := contextKey{p.From, p.To, r.SPDCID}
	c := u.contexts[key]
	if r.Flags&wire.RequestSyn == 0 {
		return c
	}
	if start := r.PSN - uint32(r.PSNOffset); c == nil || c.closed || c.start != start {
		u.close(key)
		c = &context{key: key, pair: u.pair(p.From, p.To), start: start, ordered: r.Type.IsROD(), againAt: longAgo, overdue: longAgo}
		u.contexts[key] = c
	}
	return c
}

// quiet tells whether all that is under way between two hosts may count as lost by now.
func (u *UET) quiet(now Time, of *pair) bool {
	for _, c := range u.contexts {
		if c.pair != of || of.inFlight == 0 {
			continue
		}
		for i := range c.sent {
			if e := &c.sent[i]; e.flying && now-e.at < u.MinWait(c.key.from, c.key.to) {
				return false
			}
		}
	}
	return true
}

func (u *UET) sentAgain(now Time, c *context, k int, carries bundle) error {
	e := &c.sent[k]
	psn := c.start + uint32(k)
	reason := e.refused >= e.at || now-e.at >= u.MinWait(c.key.from, c.key.to)
	if c.ordered {
		reason = reason || c.againAt >= e.at && c.again < k || c.overdue >= e.at // it has gone back
	}
	switch {
	case e.carries != carries:
		return fmt.Errorf("PSN %d to %d carries %+v, and carried %+v before", psn, c.key.to, carries, e.carries)
	case e.known:
		return fmt.Errorf("PSN %d to %d is sent again, and is known to have arrived", psn, c.key.to)
	case !reason:
		return fmt.Errorf("PSN %d to %d is sent again without a reason: sent %v ago, at least %v are due", psn, c.key.to, now-e.at, u.MinWait(c.key.from, c.key.to))
	}
	if e.waits {
		c.pair.waits--
	}
	if !e.flying {
		c.pair.inFlight++
	}
	e.waits, e.flying = false, true
	c.again, c.againAt = k, now
	e.at, e.times = now, e.times+1
	return nil
}

// acknowledged judges what an ACK of a target says.
func (u *UET) acknowledged(c *context, a *wire.AckCC) error {
	cum := int(int32(a.CumPSN - c.start))
	to := c.key.from
	switch {
	case cum != c.expect-1:
		return fmt.Errorf("ACK to %d up to PSN %d, and everything up to %d has arrived", to, a.CumPSN, c.start+uint32(c.expect-1))
	case a.CCType == wire.CCNSCC && a.RcvdBytes != c.units&0xffffff:
		return fmt.Errorf("ACK to %d counts %d units received, and %d have been", to, a.RcvdBytes, c.units&0xffffff)
	case int(a.OOO) != min(c.count, wire.NoOOOCount-1):
		return fmt.Errorf("ACK to %d counts %d packets beyond a gap, and there are %d", to, a.OOO, c.count)
	}
	base := cum + int(a.SackOffset)
	for set := a.Sack; set != 0; set &= set - 1 {
		if k := base + bits.TrailingZeros64(set); !c.has(k) {
			return fmt.Errorf("ACK to %d names PSN %d as arrived, and it has not", to, c.start+uint32(k))
		}
	}
	named := -1
	if a.Flags&wire.AckProbe == 0 {
		if named = int(int32(a.PSN() - c.start)); !c.has(named) {
			return fmt.Errorf("ACK to %d answers PSN %d, which has not arrived", to, a.PSN())
		}
	}
	c.pay(func(k int) bool {
		return k <= cum || k == named || k >= base && k < base+64 && a.Sack>>(k-base)&1 != 0
	})
	return nil
}

func (c *context) has(k int) bool {
	return k >= 0 && (k < c.expect || k < len(c.arrived) && c.arrived[k])
}

// pay strikes what has been answered from what is owed.
func (c *context) pay(paid func(k int) bool) {
	left := c.owed[:0]
	for _, k := range c.owed {
		if !paid(k) {
			left = append(left, k)
		}
	}
	c.owed = left
}

// refused judges a NACK of a target.
func (u *UET) refused(c *context, n *wire.Nack) error {
	k := int(int32(n.PSN - c.start))
	c.pay(func(owed int) bool { return owed == k })
	switch n.Code {
	case wire.NackTrimmed, wire.NackTrimmedLastHop:
		if k < 0 || k >= len(c.trimmed) || !c.trimmed[k] {
			return fmt.Errorf("NACK to %d that PSN %d was trimmed, and it was not", c.key.from, n.PSN)
		}
	case wire.NackRODOOO:
		if expected := int(int32(n.Payload - c.start)); !c.ordered || expected > c.expect {
			return fmt.Errorf("NACK to %d expects PSN %d, where %d is missing", c.key.from, n.Payload, c.start+uint32(c.expect))
		}
	}
	return nil
}

// Received implements Rules.
func (u *UET) Received(now Time, host core.Addr, p *core.Packet) error {
	b := p.Header[:p.HeaderLen]
	prologue, why := wire.ParsePrologue(b)
	if why != wire.OK {
		return fmt.Errorf("a packet from %d that cannot be read: %v", p.From, why)
	}
	switch t := prologue.Type(); {
	case t.IsRequest():
		if r, why := wire.ParseRequest(b); why == wire.OK {
			if c := u.contexts[contextKey{p.From, p.To, r.SPDCID}]; c != nil && !c.closed {
				u.arrive(c, p, &r)
			}
		}
	case t == wire.TypeAckCC:
		if a, why := wire.ParseAckCC(b); why == wire.OK {
			if c := u.contexts[contextKey{p.To, p.From, a.DPDCID}]; c != nil && !c.closed {
				if c.pair.credit.heard = true; a.CCType == wire.CCCredit {
					c.pair.credit.grant(a.Credit)
				}
				c.learn(now, u.MinWait(c.key.from, c.key.to), &a)
			}
		}
	case t == wire.TypeNack:
		if n, why := wire.ParseNack(b); why == wire.OK {
			if c := u.contexts[contextKey{p.To, p.From, n.DPDCID}]; c != nil && !c.closed {
				c.learnRefusal(now, &n)
			}
		}
	case t == wire.TypeControl:
		if h, why := wire.ParseControl(b); why == wire.OK && h.Control == wire.ControlCredit {
			if c := u.contexts[contextKey{p.To, p.From, h.DPDCID}]; c != nil && !c.closed {
				c.pair.credit.grant(h.Payload)
			}
		}
	}
	return nil
}

// arrive takes a request at its target.
func (u *UET) arrive(c *context, p *core.Packet, r *wire.Request) {
	k := int(int32(r.PSN - c.start))
	if k < 0 || k >= c.expect+u.MPR {
		return
	}
	for len(c.arrived) <= k {
		c.arrived, c.trimmed = append(c.arrived, false), append(c.trimmed, false)
	}
	asks := r.Flags&(wire.RequestAR|wire.RequestRetx) != 0
	switch {
	case p.Flags&(core.WasTrimmed|core.TrimmedLastHop) != 0:
		c.trimmed[k] = true
		if !c.ordered || k <= c.expect {
			u.owe(c, k)
		}
		return
	case c.has(k):
		u.owe(c, k)
		return
	case c.ordered && k != c.expect:
		return
	}
	c.arrived[k] = true
	c.count++
	c.units += uint32(8+int(p.HeaderLen)+int(p.Payload.Length)+40+wire.BytesUnit-1) / wire.BytesUnit
	for c.expect < len(c.arrived) && c.arrived[c.expect] {
		c.expect++
		c.count--
	}
	if asks || !c.greeted {
		u.owe(c, k)
	}
	c.greeted = true
}

func (u *UET) owe(c *context, k int) {
	if len(c.owed) == 0 {
		u.owing[c.key.to] = append(u.owing[c.key.to], c)
	}
	c.owed = append(c.owed, k)
}

// learn tells the source's side what an ACK says.
func (c *context) learn(now, wait Time, a *wire.AckCC) {
	if c.una < len(c.sent) && now-c.sent[c.una].at >= wait {
		c.overdue = now
	}
	cum := int(int32(a.CumPSN - c.start))
	for ; c.una <= min(cum, len(c.sent)-1); c.una++ {
		c.forget(c.una)
	}
	base := cum + int(a.SackOffset)
	for set := a.Sack; set != 0; set &= set - 1 {
		c.forgetSent(base + bits.TrailingZeros64(set))
	}
	if a.Flags&wire.AckProbe == 0 {
		c.forgetSent(int(int32(a.PSN() - c.start)))
	}
}

func (c *context) forgetSent(k int) {
	if k >= 0 && k < len(c.sent) {
		c.forget(k)
	}
}

// learnRefusal tells the source's side what a NACK says.
func (c *context) learnRefusal(now Time, n *wire.Nack) {
	k := int(int32(n.PSN - c.start))
	if n.Code == wire.NackRODOOO {
		k = int(int32(n.Payload - c.start))
	}
	if k < 0 || k >= len(c.sent) {
		return
	}
	e := &c.sent[k]
	first := e.times == 1 && e.flying
	e.refused = now
	switch {
	case c.ordered: // everything behind goes out again too
		for ; k < len(c.sent); k++ {
			c.sent[k].refused = now
		}
	case n.Code == wire.NackPktNotRcvd && e.known:
		e.known, e.flying = false, true
		c.pair.inFlight++
	case first && (n.Code == wire.NackTrimmed || n.Code == wire.NackTrimmedLastHop):
		e.waits, e.flying = true, false
		c.pair.inFlight--
		c.pair.waits++
	}
}

// Rests implements Rules.
func (u *UET) Rests(now Time, host core.Addr) error {
	for _, c := range u.owing[host] {
		if len(c.owed) > 0 && !c.closed {
			return fmt.Errorf("PSN %d from %d is owed an answer, and none was sent", c.start+uint32(c.owed[0]), c.key.from)
		}
	}
	u.owing[host] = u.owing[host][:0]
	if u.Paced {
		return nil
	}
	for _, p := range u.of[host] {
		if p.waits > 0 && p.inFlight == 0 && !p.credit.on {
			return fmt.Errorf("%d packets to %d were NACKed and are not sent again, with nothing under way", p.waits, p.key.to)
		}
	}
	return nil
}
