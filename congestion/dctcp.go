package congestion

import "github.com/weft-transport/weft/transport/param"

// DCTCP in two flavours.
//
// window (RFC 8257): Reno whose cut follows the share of marked bytes. Once per window
//
//	alpha = (1-g) alpha + g F       F: marked of acknowledged bytes in that window
//	cwnd  = cwnd (1 - alpha/2)      if any was marked; no growth in the window after
//
// packet (what htsim calls dctcp, and what most figures of the REPS paper use): no alpha, no round:
//
//	per acknowledgement   unmarked: cwnd += bytes * MTU/cwnd      marked: cwnd -= bytes * cut
//	per lost packet       cwnd -= bytes
//
// F is exact when every packet is acknowledged by itself (ackPerPacket=true): an acknowledgement for
// several packets tells of one. Switches mark above one threshold, K >= C RTT/7 (the SIGCOMM 2010 paper).

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "dctcp",
		Doc:    "Window control by the share of marked bytes, or by each mark (flavour=packet); best with an acknowledgement for every packet.",
		Source: "RFC 8257, DCTCP (SIGCOMM 2010); htsim and the REPS artifact for flavour=packet",
		Params: []param.Param{
			{Name: "flavour", Kind: param.Word, Default: "window", OneOf: []string{"window", "packet"}, Doc: "One cut per window by alpha (RFC 8257), or a small cut for every mark (REPS artifact)."},
			{Name: "window", Kind: param.Bytes, Doc: "Initial window; absent: ten full packets (RFC 6928) at any rate and RTT, with flavour=packet maxWindow (REPS artifact), which scales with BDP."},
			{Name: "maxWindow", Kind: param.Bytes, Doc: "Largest window; absent: 4 BDP, the peer's receive buffer, with flavour=packet 1.5 BDP (REPS artifact); scales with BDP."},
			{Name: "g", Kind: param.Fraction, Default: "1/16", Doc: "window: weight of one window in alpha (RFC 8257, section 4.2); the same at any rate and RTT."},
			{Name: "initialAlpha", Kind: param.Fraction, Default: "1", Doc: "window: alpha at the start (RFC 8257 and Linux); no scaling."},
			{Name: "beta", Kind: param.Fraction, Default: "1/2", Doc: "window: what a loss leaves of the window (RFC 5681); no scaling."},
			{Name: "cut", Kind: param.Fraction, Default: "1/4", Doc: "packet: share of marked bytes taken off the window (REPS artifact; htsim: 1/3); no scaling."},
		},
		New: newDCTCPMaker,
	})
}

func newDCTCPMaker(v param.Values) (Maker, error) {
	if v.Word("flavour") == "packet" {
		cut := v.Float("cut")
		return func(path Path) Controller {
			c := &dctcpPacket{windowed: newWindowed(v, path, initialPackets, 1.5), cut: cut}
			if !v.Has("window") {
				c.cwnd = c.most
			}
			return c
		}, nil
	}
	g, alpha := v.Float("g"), v.Float("initialAlpha")
	return func(path Path) Controller { return &dctcp{tcp: newTCP(v, path), g: g, alpha: alpha} }, nil
}

type dctcp struct {
	tcp
	g, alpha      float64
	acked, marked int64 // bytes in this window
	window        round
	cutInWindow   bool // the window before was marked: no growth in this one
}

func (c *dctcp) OnAck(now Time, a Ack) {
	grows := c.heard(a)
	c.acked += a.Delivered
	if a.Marked {
		c.marked += a.Delivered
		c.ssthresh = min(c.ssthresh, c.cwnd) // the first mark ends slow start
	}
	if c.window.over(a.Delivered) {
		c.endWindow(a.InFlight)
	}
	if !grows || c.cutInWindow {
		return
	}
	if !c.slowStart(a.Delivered) {
		c.linear(1, a.Delivered)
	}
}

func (c *dctcp) endWindow(inFlight int64) {
	share := 0.0
	if c.acked > 0 {
		share = float64(c.marked) / float64(c.acked)
	}
	c.alpha = float64((1-c.g)*c.alpha) + float64(c.g*share)
	c.cutInWindow = c.marked > 0
	if c.cutInWindow && !c.recovering {
		c.set(c.cwnd * (1 - float64(c.alpha/2)))
		c.ssthresh = c.cwnd
	}
	c.acked, c.marked = 0, 0
	c.window.start(inFlight)
}

func (c *dctcp) OnSignal(now Time, s Signal) {
	c.window.over(s.Bytes)
	c.lost(s)
}

type dctcpPacket struct {
	windowed
	cut float64
}

func (c *dctcpPacket) OnAck(now Time, a Ack) {
	if a.Marked {
		c.set(c.cwnd - float64(c.cut*float64(a.Delivered)))
		return
	}
	c.linear(1, a.Delivered)
}

func (c *dctcpPacket) OnSignal(now Time, s Signal) { c.set(c.cwnd - float64(s.Bytes)) }
