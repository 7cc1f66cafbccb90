package live

import (
	"fmt"
	"math"

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

	burst float64 // mean number of packets that are lost in a row
}

// problem tells where what packets met is not what was asked for: a loss that chance does not explain (five standard
// deviations, of runs that are lost together), a rate above the asked one by more than 1 % and 64 KiB a second.
func (s *Shaped) problem() string {
	n := float64(s.Packets)
	chance := 5*math.Sqrt(s.AskedLoss*(1-s.AskedLoss)*(2*s.burst-1)/max(n, 1)) + 1/max(n, 1)
	switch {
	case n > 0 && math.Abs(s.Loss-s.AskedLoss) > chance:
		return fmt.Sprintf("link %s lost %.3g %% of %d packets; asked were %.3g %%, give or take %.2g", s.Link, 100*s.Loss, s.Packets, 100*s.AskedLoss, 100*chance)
	case s.Rate > float64(s.AskedRate)*1.01+64<<10*8:
		return fmt.Sprintf("link %s carried %.4g Mbit/s; asked were at most %.4g", s.Link, s.Rate/1e6, float64(s.AskedRate)/1e6)
	}
	return ""
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
			AskedLoss: l.Netem.Loss.Mean(), AskedRate: l.RateBps, burst: l.Netem.Loss.MeanBurst(),
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
