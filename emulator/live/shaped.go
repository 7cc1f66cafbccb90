package live

import (
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/instant"
)

// A Shaped sets what the netem of a link was asked for beside what packets met, in the network's time: the datagrams'
// lateness comes on top. Jitter that keeps the order, and queues in front of a rate, make delays longer than asked.
type Shaped struct {
	Link       string  `json:"link"`
	Packets    uint64  `json:"packets"` // that came to it
	AskedDelay float64 `json:"asked_delay_us"`
	Delay      float64 `json:"delay_us"` // mean
	AskedLoss  float64 `json:"asked_loss"`
	Loss       float64 `json:"loss"`
	AskedRate  int64   `json:"asked_rate_bps"` // the lower one of the link's and its netem's
	Rate       float64 `json:"rate_bps"`       // mean, since the beginning
}

// shaped looks at all links with a netem. The caller holds mu.
func (f *Fabric) shaped() (all []Shaped) {
	for i := range f.cfg.Network.Links {
		l := &f.cfg.Network.Links[i]
		s, ok := f.net.Shaped(i)
		if !ok {
			continue
		}
		one := Shaped{
			Link: l.Name, Packets: s.Entered, AskedDelay: micros(l.Netem.Delay), Delay: micros(s.Delay),
			AskedLoss: meanLoss(l.Netem.Loss), AskedRate: l.RateBps,
		}
		if r := l.Netem.RateBps; r > 0 {
			one.AskedRate = min(r, one.AskedRate)
		}
		if s.Entered > 0 {
			one.Loss = float64(s.Lost) / float64(s.Entered)
			one.Rate = float64(f.net.Port(i).Bytes) * (1 - one.Loss) * 8 / f.net.Now().Seconds()
		}
		all = append(all, one)
	}
	return all
}

func micros(t instant.Time) float64 { return t.Seconds() * 1e6 }

// meanLoss is the share of packets that a model loses in the long run.
func meanLoss(l netem.Loss) float64 {
	switch l.Model {
	case netem.FourState: // the stationary shares of its states, relative to that of state 1; state 4 lasts one packet
		if l.P31 == 0 && l.P13 > 0 { // it stays in states 2 and 3
			return share(l.P23, l.P32)
		}
		lost, burst := 0.0, 0.0
		if l.P31 > 0 {
			lost = l.P13 / l.P31
		}
		if l.P23 > 0 {
			burst = lost * l.P32 / l.P23
		}
		return (lost + l.P14) / (1 + lost + burst + l.P14)
	case netem.GilbertElliott:
		bad := share(l.ToBad, l.ToGood)
		return bad*l.BadLoss + (1-bad)*l.GoodLoss
	}
	return l.P
}

// share is that of the state which is entered with chance in and left with chance out.
func share(in, out float64) float64 {
	if in+out == 0 {
		return 0
	}
	return in / (in + out)
}
