package congestion

import (
	"math"

	"github.com/weft-transport/weft/transport/param"
)

// CUBIC (RFC 9438): after a reduction the window follows a cubic of the time since, flat around the
// window of the last loss, and never below what Reno would have:
//
//	W(t) = C (t-K)^3 + Wmax       K = cbrt((Wmax - cwnd at the reduction)/C)
//
// in full packets and seconds. With C = 0.4 the cubic takes seconds to return (4.8 s from 0.7 x 144
// packets), so that at the round trips of a data centre the Reno part decides: 0.53 packets per window.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "cubic",
		Doc:    "TCP CUBIC: the window as a cubic of the time since the last loss, at least Reno's.",
		Source: "RFC 9438, RFC 6928 (initial window)",
		Params: append(tcpParams("0.7"), maxWindowParam("4bdp", tcpMaxDoc),
			param.Param{Name: "c", Kind: param.Float, Default: "0.4", Min: 0, Max: 1e18, Doc: "Steepness C of the cubic, packets per cubed second (RFC 9438, section 5.1); not scaled with rate or RTT there."},
			param.Param{Name: "fastConvergence", Kind: param.Bool, Default: "true", Doc: "Whether a flow that is cut below its last maximum releases more (RFC 9438, section 4.7)."},
		),
		New: func(v param.Values) (Maker, error) {
			c, fast, ecn := v.Float("c"), v.Bool("fastConvergence"), v.Bool("ecn")
			return func(path Path) Controller {
				tcp := newTCP(v, path)
				return &cubic{tcp: tcp, ecn: ecn, c: c, friendly: 3 * (1 - tcp.beta) / (1 + tcp.beta), fastConvergence: fast, rtt: path.BaseRTT}
			}, nil
		},
	})
}

type cubic struct {
	tcp
	ecn             bool
	c               float64
	friendly        float64 // additive increase that averages Reno's: section 4.3
	fastConvergence bool
	running         bool    // an epoch of congestion avoidance has begun
	epoch           Time    // its start
	rtt             Time    // last sample
	wMax            float64 // full packets, as all that follows
	prior           float64 // window before the last reduction
	k               float64 // seconds
	reno            float64 // what Reno would have
}

func (c *cubic) OnAck(now Time, a Ack) {
	if a.RTT > 0 {
		c.rtt = a.RTT
	}
	grows := c.heard(a)
	before := c.cwnd
	if a.Marked && c.ecn && c.reduce(a.InFlight) {
		c.reduced(before)
		return
	}
	if !grows {
		c.running = c.running && c.recovering // an idle time does not count as growth
		return
	}
	if !c.slowStart(a.Delivered) {
		c.avoid(now, a.Delivered)
	}
}

func (c *cubic) OnSignal(now Time, s Signal) {
	before := c.cwnd
	if c.lost(s) {
		c.reduced(before)
	}
}

// reduced notes where the window was when it was cut.
func (c *cubic) reduced(before float64) {
	packets := before / c.mtu
	c.running = false
	c.prior = packets
	if c.fastConvergence && packets < c.wMax {
		packets = packets * (1 + c.beta) / 2
	}
	c.wMax = packets
	if c.collapsed { // section 4.8: the next epoch begins at the plateau
		c.wMax = 0
	}
}

// avoid is congestion avoidance: sections 4.2 to 4.5.
func (c *cubic) avoid(now Time, delivered int64) {
	w := c.cwnd / c.mtu
	if !c.running {
		c.running = true
		c.epoch, c.reno = now, w
		c.wMax = max(c.wMax, w)
		c.k = cubeRoot((c.wMax - w) / c.c)
	}
	acked := float64(delivered) / c.mtu
	alpha := 1.0
	if c.reno < c.prior {
		alpha = c.friendly
	}
	c.reno += float64(alpha * acked / w)
	t := (now - c.epoch).Seconds()
	if c.at(t) < c.reno {
		c.set(max(c.reno, w) * c.mtu)
		return
	}
	target := min(max(c.at(t+c.rtt.Seconds()), w), 1.5*w)
	c.set(c.cwnd + float64((target-w)/w*acked*c.mtu))
}

// at is the cubic, in full packets.
func (c *cubic) at(t float64) float64 {
	d := t - c.k
	return float64(c.c*float64(d*d*d)) + c.wMax
}

// cubeRoot is Newton's method with every product rounded, so that all machines get the same bits. It
// returns 0 for what is not a positive number.
func cubeRoot(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return 0
	}
	fraction, exponent := math.Frexp(x)
	y := math.Ldexp(fraction, exponent/3)
	for range 60 {
		next := (float64(2*y) + x/float64(y*y)) / 3
		if next == y {
			break
		}
		y = next
	}
	return y
}

// Traits: without ECN queues are not heard.
func (c *cubic) Traits() Traits { return c.traits(c.ecn) }
