package congestion

import "github.com/weft-transport/weft/transport/param"

// MP-RDMA, the window half (Lu et al., NSDI 2018, section 4.1): one window over all paths, moved by each
// acknowledgement as DCTCP moves it on average:
//
//	unmarked   cwnd += 1/cwnd        marked   cwnd -= 1/2       in packets, per packet acknowledged
//	timeout    cwnd = 1
//
// Which path the next packet takes is the sprayer's business. The paper leaves open what a packet
// held lost without a timeout costs: here what it was worth, so that the window follows what the
// network delivers.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "mprdma",
		Doc:    "MP-RDMA's window: a packet more per round trip, half a packet less for every mark.",
		Source: "MP-RDMA (NSDI 2018), section 4.1",
		Params: []param.Param{
			{Name: "window", Kind: param.Bytes, Doc: "Initial window; absent: one full packet (the paper), at any rate and RTT."},
			maxWindowParam("1.5bdp", "Largest window (not in the paper; that of the REPS artifact's comparison); scales with BDP."),
			{Name: "increase", Kind: param.Float, Default: "1", Min: 0, Max: 1e6, Doc: "Full packets added per window of acknowledgements (the paper); the time to fill a pipe grows with BDP."},
			{Name: "cut", Kind: param.Fraction, Default: "1/2", Doc: "Share of marked bytes taken off the window (the paper: half a packet a mark); no scaling."},
		},
		New: func(v param.Values) (Maker, error) {
			increase, cut := v.Float("increase"), v.Float("cut")
			return func(path Path) Controller {
				return &mprdma{windowed: newWindowed(v, path, 1, 1.5), increase: increase, cut: cut}
			}, nil
		},
	})
}

type mprdma struct {
	windowed
	increase, cut float64
}

func (c *mprdma) OnAck(now Time, a Ack) {
	if a.Marked {
		c.set(c.cwnd - float64(c.cut*float64(a.Delivered)))
		return
	}
	c.linear(c.increase, a.Delivered)
}

func (c *mprdma) OnSignal(now Time, s Signal) {
	if s.Cause == TimedOut {
		c.set(c.mtu)
		return
	}
	c.set(c.cwnd - float64(s.Bytes))
}
