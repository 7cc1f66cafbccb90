package congestion

import (
	"slices"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// RCCC: receiver-credit congestion control, alone and together with NSCC ("send only if both allow"). What the
// destination does is in puller.go, the account of the source in credit.go.
//
// Alone it has no window: the first one is speculative, and from then on a source is as fast as it is granted. That
// shares a destination's link exactly and answers nothing that happens before it, in the network. Together with NSCC the
// window answers that, does not react to packets trimmed on the last hop, since credits make them good, and limits what
// is asked for. Switches mark on all but the last hop then (UE Specification 1.0, section 3.6.17).

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "rccc",
		Doc:    "Ultra Ethernet receiver credits: a destination paces its sources to the rate of its link.",
		Source: "UE Specification 1.0, section 3.6.14; EQDS (NSDI 2022); uet-htsim uec.cpp (UecPullPacer)",
		Params: rcccParamList,
		New: func(v param.Values) (Maker, error) {
			p := readRCCC(v)
			return func(path Path) Controller { return &rccc{creditSource: newCreditSource(p, path), p: p} }, nil
		},
	})
	Registry.Register(param.Entry[Maker]{
		Name:   "nscc+rccc",
		Doc:    "Both controls of Ultra Ethernet: a packet leaves when the window of NSCC and the credits of RCCC allow it.",
		Source: "UE Specification 1.0, sections 3.6.13 and 3.6.14; uet-htsim uec.cpp",
		Params: bothParamList(),
		New: func(v param.Values) (Maker, error) {
			n, p := readNSCC(v), readRCCC(v)
			n.credits = true
			return func(path Path) Controller {
				return &nsccWithCredits{nscc: *newNSCC(n, path), creditSource: newCreditSource(p, path), p: p}
			}, nil
		},
	})
}

// rcccParams are the parameters of RCCC, shared by all contexts and granters of a run.
type rcccParams struct {
	rate    float64 // of the link
	quantum float64 // payloads of a full packet
	most    float64 // bandwidth-delay products
	idle    float64 // of most
	values  param.Values
}

var rcccParamList = []param.Param{
	{Name: "grantRate", Kind: param.Fraction, Default: "99%", Min: 0.01, Max: 1,
		Doc: "Rate of all grants of a destination, of its link's rate: a little less, so that its queue drains (EQDS; uet-htsim 0.99); scales with rate."},
	{Name: "quantum", Kind: param.Float, Default: "4", Min: 0.01, Max: 1024,
		Doc: "One grant, in payloads of a full packet (uet-htsim: 4); not scaled; a round over n sources takes n quanta at the rate of grants."},
	{Name: "maxCredit", Kind: param.Float, Default: "1.5", Min: 0.01, Max: 1000,
		Doc: "Largest unspent credit and largest demand of a context, in bandwidth-delay products: scales with rate and base RTT (uet-htsim: 1.5)."},
	{Name: "start", Kind: param.Bytes,
		Doc: "Speculative window of a new context, sent before anything is granted; absent: maxCredit (UE Specification: one window); scales with it."},
	{Name: "idleCredit", Kind: param.Float, Default: "1", Min: 0, Max: 16,
		Doc: "Credit granted on account to sources that ask for none, while the link is idle, in maxCredits (uet-htsim: 1), with which it scales; 0: none."},
}

// bothParamList joins the parameters of both controls. Credits are not an option there.
func bothParamList() []param.Param {
	list := slices.DeleteFunc(slices.Clone(nsccParamList), func(p param.Param) bool { return p.Name == "credits" })
	return append(list, rcccParamList...)
}

func readRCCC(v param.Values) *rcccParams {
	return &rcccParams{rate: v.Float("grantRate"), quantum: v.Float("quantum"), most: v.Float("maxCredit"), idle: v.Float("idleCredit"), values: v}
}

// mostFor returns maxCredit in bytes.
func (p *rcccParams) mostFor(path Path) int64 {
	return max(int64(p.most*float64(path.BDP())), path.MTU)
}

// quantumFor returns one grant in bytes.
func (p *rcccParams) quantumFor(link Path) int64 { return int64(p.quantum * float64(link.MSS)) }

// DefaultGranter makes the destination's half for a host whose own contexts do without credits.
func DefaultGranter(link Path) Granter {
	maker, _, err := Registry.Make("rccc", nil)
	if err != nil {
		panic(err) // registered above, with defaults that pass their checks
	}
	return maker(link).(Credited).Granter(link)
}

type rccc struct {
	creditSource
	p *rcccParams
}

// Traits: no window and no rate; the destination slows it down.
func (c *rccc) Traits() Traits { return Traits{MinWindow: Unlimited, MaxWindow: Unlimited} }

func (c *rccc) OnSent(now Time, bytes, inFlight int64) { c.spend(bytes) }
func (c *rccc) OnAck(now Time, a Ack)                  { c.heard() }
func (c *rccc) OnTimeout(now Time)                     {}
func (c *rccc) Deadline() Time                         { return instant.Never }
func (c *rccc) Window() int64                          { return Unlimited }
func (c *rccc) Rate() int64                            { return 0 }
func (c *rccc) GrantsInAcks() bool                     { return true }
func (c *rccc) Granter(link Path) Granter              { return newPuller(c.p, link) }

func (c *rccc) OnSignal(now Time, s Signal) {
	if s.Cause != CNP {
		c.heard()
	}
}

func (c *rccc) Ask(backlog int64, sharing int) uint32 {
	return c.tell(c.ask(backlog, Unlimited, sharing))
}

func (c *rccc) Restate(backlog int64) uint32 {
	c.asked = c.ask(backlog, Unlimited, 1)
	return c.asked
}

type nsccWithCredits struct {
	nscc
	creditSource
	p *rcccParams
}

func (c *nsccWithCredits) OnSent(now Time, bytes, inFlight int64) {
	c.spend(bytes)
	c.nscc.OnSent(now, bytes, inFlight)
}

func (c *nsccWithCredits) OnAck(now Time, a Ack) {
	c.heard()
	c.nscc.OnAck(now, a)
}

func (c *nsccWithCredits) OnSignal(now Time, s Signal) {
	if s.Cause != CNP {
		c.heard()
	}
	c.nscc.OnSignal(now, s)
}

// Ask asks for no more than the window will take, and a packet.
func (c *nsccWithCredits) Ask(backlog int64, sharing int) uint32 {
	return c.tell(c.ask(backlog, c.window+int64(c.nscc.mtu), sharing))
}

func (c *nsccWithCredits) Restate(backlog int64) uint32 {
	c.asked = c.ask(backlog, c.window+int64(c.nscc.mtu), 1)
	return c.asked
}

func (c *nsccWithCredits) GrantsInAcks() bool        { return false }
func (c *nsccWithCredits) Granter(link Path) Granter { return newPuller(c.p, link) }
