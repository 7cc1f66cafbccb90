package congestion

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// DCQCN against its published fluid model (Zhu et al., SIGCOMM 2015, section 5).
//
// # The model
//
// N equal flows share a link of capacity C (packets per second), with marking probability p(q) of
// the queue q. Each has current rate R, target rate RT, and alpha. Notifications are at least tau
// apart, alpha is updated every tau', the increase timer runs every T, the byte counter every B
// packets, F steps are fast recovery, A is the additive step:
//
//	alpha' = g/tau' * ( 1-(1-p)^(tau' R) - alpha )
//	RT'    = -(RT-R)/tau * (1-(1-p)^(tau R)) + A * ( eB (1-p)^(F B) + eT (1-p)^(F T R) )
//	R'     = -R alpha/(2 tau) * (1-(1-p)^(tau R)) + (RT-R)/2 * ( eB + eT )
//	q'     = N R - C
//	eB = R p / ((1-p)^(-B) - 1),   eT = R p / ((1-p)^(-T R) - 1)
//
// eB and eT are the rates of byte-counter and timer events: a mark restarts both, marks come at
// rate Rp, and the sum over k of P(no mark in k B packets) is 1/((1-p)^-B - 1).
//
// # Its fixed point
//
// All derivatives zero. The last equation gives R = C/N, the first alpha = 1-(1-p)^(tau' R). With
// c = (1-(1-p)^(tau R))/tau, the rate of cuts, the third gives RT-R = R alpha c / (eB+eT). Put
// into the second, p is the root of an increasing function:
//
//	R alpha c^2 / (eB+eT)  =  A ( eB (1-p)^(F B) + eT (1-p)^(F T R) )
//
// and q = Kmin + p (Kmax-Kmin)/Pmax. It does not depend on g.
//
// # How far it is from the algorithm
//
// The model multiplies the mean distance RT-R by the mean rates of events. In the algorithm the
// distance halves with every step after a cut, so the few cycles that are cut off early lose most
// of it. Both agree when a cycle has many timer periods, that is when A is small, and when
// notifications follow marks closely. With the published constants (A = 40 Mb/s at 40 Gb/s) the
// model's p is 3 to 5 % low at tau = 4 us, and a quarter low at tau = 50 us, where no cycle can be
// shorter than one timer period.
//
// The balance of one cycle has no such limit. A flow is cut at rate R and target R. The next
// notification comes after X = tau + Exp(rate p R); by then k = floor(X/T) steps were taken. With
// R(0) = R(1-alpha/2) and R(k) = (RT(k)+R(k-1))/2, where RT grows by A beyond step F, the mean of
// R(k) - R must vanish, and alpha = 1/(1 + E floor(X/tau')) since each cycle raises it once and
// lets it decay in every whole period. (Byte counter: at these rates, no cycle lives that long.)
//
// So there are three tests: the simulation meets the published fixed point within 2 % where the
// model is meant to hold; it meets the cycle balance within 2 % (3 % for rare notifications) with
// the published constants; and the cycle balance tends to the published fixed point as A falls.
// Rates are R = C/N in every case.

type fluidModel struct {
	flows       int
	lineBps     float64
	packetBytes float64
	fastSteps   int
	byteCounter float64 // bytes
	timer       float64 // seconds, as the periods below
	alphaPeriod float64
	cnpInterval float64
	additiveBps float64
}

// published has the constants of the paper for 40 Gb/s, but for the notification interval.
func published(flows int, additiveBps float64, cnpInterval Time) fluidModel {
	return fluidModel{flows: flows, lineBps: 40e9, packetBytes: 1000, fastSteps: 5, byteCounter: 10e6,
		timer: 55e-6, alphaPeriod: 55e-6, cnpInterval: cnpInterval.Seconds(), additiveBps: additiveBps}
}

func (m fluidModel) share() float64 { return m.lineBps / float64(m.flows) }

// packets converts bits per second.
func (m fluidModel) packets(bps float64) float64 { return bps / 8 / m.packetBytes }

// fixedPoint solves the published equations for p.
func (m fluidModel) fixedPoint() (p, alpha float64) {
	rate, add := m.packets(m.share()), m.packets(m.additiveBps)
	counter := m.byteCounter / m.packetBytes
	fast := float64(m.fastSteps)
	excess := func(p float64) float64 {
		clear := func(packets float64) float64 { return math.Pow(1-p, packets) }
		events := func(packets float64) float64 { return rate * p / (1/clear(packets) - 1) }
		alpha = 1 - clear(m.alphaPeriod*rate)
		cuts := (1 - clear(m.cnpInterval*rate)) / m.cnpInterval
		eB, eT := events(counter), events(m.timer*rate)
		additive := eB*clear(fast*counter) + eT*clear(fast*m.timer*rate)
		return rate*alpha*cuts*cuts/(eB+eT) - add*additive
	}
	return root(excess), alpha
}

// cycleBalance solves the balance of one cycle for p.
func (m fluidModel) cycleBalance() (p, alpha float64) {
	rate, add := m.packets(m.share()), m.packets(m.additiveBps)
	loss := func(p float64) float64 {
		marks := -math.Log(1-p) * rate
		longer := func(x float64) float64 { return math.Exp(-marks * max(0, x-m.cnpInterval)) }
		periods := 0.0
		for x := m.alphaPeriod; longer(x) > 1e-12; x += m.alphaPeriod {
			periods += longer(x)
		}
		alpha = 1 / (1 + periods)
		mean, target, now := 0.0, rate, rate*(1-alpha/2)
		for k := 0; longer(float64(k)*m.timer) > 1e-12; k++ {
			mean += (longer(float64(k)*m.timer) - longer(float64(k+1)*m.timer)) * (now - rate)
			if k+1 > m.fastSteps {
				target += add
			}
			now = (target + now) / 2
		}
		return -mean
	}
	return root(loss), alpha
}

// root bisects for the zero of an increasing function of a probability.
func root(f func(float64) float64) float64 {
	low, high := 1e-8, 0.5
	for range 200 {
		if mid := math.Sqrt(low * high); f(mid) > 0 {
			high = mid
		} else {
			low = mid
		}
	}
	f(low)
	return low
}

// A bottleneck is one link with RED marking, a notification point per flow, and DCQCN senders.
// Queue and marking probability move in fixed steps; within a step every flow is exact: marks are
// a Poisson process of its rate, timers run on time, the byte counter is fed.
type bottleneck struct {
	model fluidModel
	slope float64 // of the marking probability, per byte above kmin
	kmin  float64
	queue float64
	flows []bottleneckFlow
	rnd   *rand.Rand
}

type bottleneckFlow struct {
	*dcqcnPaper
	now      Time
	lastCNP  Time
	fraction float64 // of a byte, not yet told to the byte counter
	sent     float64
}

const bottleneckStep = 50 * us

// newBottleneck starts away from the fixed point: odd flows 10 % above their share, even ones 10 %
// below, the queue 5 % below the one that belongs to p.
func newBottleneck(t *testing.T, m fluidModel, slope, p, alpha float64) *bottleneck {
	b := &bottleneck{model: m, slope: slope, kmin: 100e3, rnd: rand.New(rand.NewSource(1))}
	b.queue = b.kmin + 0.95*p/slope
	maker, _, err := Registry.Make("dcqcn", map[string]string{"rateAI": fmt.Sprintf("%.0fbps", m.additiveBps)})
	require.NoError(t, err)
	path := Path{LineRateBps: int64(m.lineBps), BaseRTT: base, MTU: int64(m.packetBytes), MSS: int64(m.packetBytes)}
	for i := range m.flows {
		f := bottleneckFlow{dcqcnPaper: maker(path).(*dcqcnPaper), lastCNP: -instant.Second}
		cnp(f, 0)
		f.rate = m.share() * (0.9 + 0.2*float64(i%2))
		f.target, f.alpha = f.rate, alpha
		b.flows = append(b.flows, f)
	}
	return b
}

func (b *bottleneck) probability() float64 {
	return min(max(0, b.slope*(b.queue-b.kmin)), 1)
}

// run simulates and returns the means over the last two thirds of the time.
func (b *bottleneck) run(length Time) (p, queue float64, shares []float64) {
	steps := 0.0
	for now := Time(0); now < length; now += bottleneckStep {
		counted := now > length/3
		marking := b.probability()
		arrived := 0.0
		for i := range b.flows {
			sent := b.advance(&b.flows[i], now+bottleneckStep, marking)
			arrived += sent
			if counted {
				b.flows[i].sent += sent
			}
		}
		b.queue = max(0, b.queue+arrived-b.model.lineBps/8*bottleneckStep.Seconds())
		if counted {
			steps++
			p += marking
			queue += b.queue
		}
	}
	for _, f := range b.flows {
		shares = append(shares, f.sent*8/(steps*bottleneckStep.Seconds())/b.model.share())
	}
	return p / steps, queue / steps, shares
}

// advance moves one flow to end and returns the bytes it sent.
func (b *bottleneck) advance(f *bottleneckFlow, end Time, marking float64) (sent float64) {
	marks := -math.Log(1 - marking)
	for f.now < end {
		mark := instant.Never
		if marks > 0 {
			mark = f.now + Time(b.rnd.ExpFloat64()/(marks*b.model.packets(f.rate))*1e12)
		}
		next := min(mark, f.Deadline(), end)
		bytes := f.rate / 8 * (next - f.now).Seconds()
		sent += bytes
		f.now = next
		whole := math.Floor(f.fraction + bytes)
		f.fraction += bytes - whole
		f.OnSent(next, int64(whole), 0)
		f.OnTimeout(next)
		if next == mark && next-f.lastCNP >= Time(b.model.cnpInterval*1e12) {
			f.lastCNP = next
			cnp(f, next)
		}
	}
	return sent
}

// requireShares compares the rates with C/N: together within 0.2 %, and within 2 % in the root mean
// square over the flows, since each is a random walk that is watched for a finite time.
func requireShares(t *testing.T, shares []float64) {
	t.Helper()
	mean, square := 0.0, 0.0
	for _, s := range shares {
		mean += s / float64(len(shares))
		square += (s - 1) * (s - 1) / float64(len(shares))
	}
	require.InDelta(t, 1, mean, 0.002)
	require.Less(t, math.Sqrt(square), 0.02)
}

// The published fixed point, in rate, marking probability and queue. The marking ramp is made so
// gentle (and the queue so long) that the probability a flow sees is the one of the mean queue, as
// the fixed point supposes.
func TestDCQCNMeetsThePublishedFixedPoint(t *testing.T) {
	for _, c := range []struct {
		flows    int
		additive float64
		length   Time
	}{{2, 4e6, 60 * instant.Second}, {16, 200e3, 30 * instant.Second}} {
		m := published(c.flows, c.additive, us)
		wantP, alpha := m.fixedPoint()
		const slope = 2e-12
		b := newBottleneck(t, m, slope, wantP, alpha)
		p, queue, shares := b.run(c.length)
		t.Logf("%d flows: p %.6g against %.6g (%+.2f %%)", c.flows, p, wantP, 100*(p/wantP-1))
		require.InEpsilon(t, wantP, p, 0.02)
		require.InEpsilon(t, b.kmin+wantP/slope, queue, 0.02)
		requireShares(t, shares)
	}
}

// The published constants, with notifications 4 us apart as adapters have it and 50 us apart as in
// the paper.
func TestDCQCNMeetsTheBalanceOfACycle(t *testing.T) {
	for _, c := range []struct {
		flows     int
		interval  Time
		slope     float64
		tolerance float64
	}{
		{2, 4 * us, 1e-11, 0.02},
		{2, 50 * us, 1e-11, 0.02},
		{16, 4 * us, 1e-10, 0.02},
		{16, 50 * us, 1e-10, 0.03},
	} {
		m := published(c.flows, 40e6, c.interval)
		wantP, alpha := m.cycleBalance()
		fluid, _ := m.fixedPoint()
		p, _, shares := newBottleneck(t, m, c.slope, wantP, alpha).run(10 * instant.Second)
		t.Logf("%d flows, %v: p %.6g against %.6g (%+.2f %%), published %.6g", c.flows, c.interval, p, wantP, 100*(p/wantP-1), fluid)
		require.InEpsilon(t, wantP, p, c.tolerance)
		require.Less(t, fluid, wantP, "the published model is low here")
		requireShares(t, shares)
	}
}

func TestDCQCNCycleBalanceTendsToThePublishedFixedPoint(t *testing.T) {
	for _, flows := range []int{2, 16} {
		last := math.Inf(1)
		for _, additive := range []float64{40e6, 4e6, 400e3, 40e3} {
			m := published(flows, additive, us/100)
			cycle, _ := m.cycleBalance()
			fluid, _ := m.fixedPoint()
			off := math.Abs(cycle/fluid - 1)
			require.Less(t, off, last, "%d flows, A %g", flows, additive)
			last = off
		}
		require.Less(t, last, 0.01)
	}
}
