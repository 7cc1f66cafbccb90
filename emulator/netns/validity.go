package netns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/weft-transport/weft/emulator/live"
)

// A Validity says how well the kernel played a network. It does not tell how late each packet was; what can be seen is the
// round trip of the idle network before the programs began, what its queueing disciplines counted, and how busy the
// machine was.
type Validity struct {
	From, To      string        // hosts whose round trip was taken
	AskedRTT, RTT time.Duration // that of the shortest way, and the median
	Lost          int           // echoes that did not come back
	Links         []Played      // that have a netem or a rate
	Processor     float64       // share of all processors that was used, by whomever, while programs ran
}

// A Played link sets what it was asked for beside what the kernel counted.
type Played struct {
	Link         string  `json:"link"`
	Packets      uint64  `json:"packets"`
	AskedDelay   float64 `json:"asked_delay_us"`
	AskedLoss    float64 `json:"asked_loss"`
	Loss         float64 `json:"loss"` // by the netem
	AskedRate    int64   `json:"asked_rate_bps"`
	Rate         float64 `json:"rate_bps"`
	QueueDropped uint64  `json:"queue_dropped_packets"` // by the queue in front of the rate

	spread float64 // standard deviation of Loss
}

// Limits of a valid run.
const (
	mostRTT       = 0.10 // share by which the round trip of the idle network may be longer than asked
	leastRTT      = 200 * time.Microsecond
	mostProcessor = 0.95
)

// Problems lists the limits that were not kept, a line each; none: the run is valid.
func (v Validity) Problems() []string {
	var all []string
	more := v.RTT - v.AskedRTT
	if limit := max(leastRTT, time.Duration(mostRTT*float64(v.AskedRTT))); more > limit || more < -limit {
		all = append(all, fmt.Sprintf("the round trip from %s to %s took %v while nothing else ran, asked were %v; the limit is %v more", v.From, v.To, v.RTT, v.AskedRTT, limit))
	}
	if v.Processor > mostProcessor {
		all = append(all, fmt.Sprintf("%.0f %% of the processors were used; the limit is %.0f %%", 100*v.Processor, 100*mostProcessor))
	}
	for _, l := range v.Links {
		if d := 5*l.spread + 1/float64(max(l.Packets, 1)); l.Packets > 0 && math.Abs(l.Loss-l.AskedLoss) > d {
			return append(all, fmt.Sprintf("link %s lost %.3g %% of %d packets; asked were %.3g %%, give or take %.2g", l.Link, 100*l.Loss, l.Packets, 100*l.AskedLoss, 100*d))
		}
		const more = 1.02
		if l.AskedRate > 0 && l.Rate > more*float64(l.AskedRate) {
			return append(all, fmt.Sprintf("link %s carried %.4g Mbit/s; asked were at most %.4g", l.Link, l.Rate/1e6, float64(l.AskedRate)/1e6))
		}
	}
	return all
}

// String is one line.
func (v Validity) String() string {
	verdict := "valid"
	if p := v.Problems(); len(p) > 0 {
		verdict = "INVALID: " + strings.Join(p, "; ")
	}
	dropped := uint64(0)
	for _, l := range v.Links {
		dropped += l.QueueDropped
	}
	return fmt.Sprintf("idle round trip from %s to %s %v (asked %v), %d dropped by queues, %.0f %% of the processors used: %s",
		v.From, v.To, v.RTT, v.AskedRTT, dropped, 100*v.Processor, verdict)
}

// MarshalJSON writes what results keep, with units in the names.
func (v Validity) MarshalJSON() ([]byte, error) {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	p := v.Problems()
	return json.Marshal(struct {
		Valid     bool     `json:"valid"`
		Problems  []string `json:"problems,omitempty"`
		From      string   `json:"from"`
		To        string   `json:"to"`
		AskedRTT  float64  `json:"asked_idle_rtt_us"`
		RTT       float64  `json:"idle_rtt_us"`
		Lost      int      `json:"lost_echoes"`
		Processor float64  `json:"machine_processor_share"`
		Links     []Played `json:"links,omitempty"`
	}{len(p) == 0, p, v.From, v.To, us(v.AskedRTT), us(v.RTT), v.Lost, v.Processor, v.Links})
}

// A Baseline is what is known before programs run.
type Baseline struct {
	validity    Validity
	disciplines map[int]discipline
	busy, all   uint64 // ticks of processors
	at          time.Time
}

// Baseline takes the round trip between the first and the last host of a network that is up, and its counters.
func (p *Plan) Baseline(ctx context.Context) (b Baseline, err error) {
	last := len(p.Hosts) - 1
	b.validity = Validity{From: strings.TrimPrefix(p.Hosts[0], p.Name+"."), To: strings.TrimPrefix(p.Hosts[last], p.Name+"."), AskedRTT: p.askedRTT}
	if b.validity.RTT, b.validity.Lost, err = p.echo(0, last); err != nil {
		return b, err
	}
	b.disciplines, err = p.counted(ctx)
	b.busy, b.all = processors()
	b.at = time.Now()
	return b, err
}

// Validity tells what came of the network since a Baseline.
func (p *Plan) Validity(ctx context.Context, b Baseline) (Validity, error) {
	v := b.validity
	now, err := p.counted(ctx)
	if err != nil {
		return v, err
	}
	if busy, all := processors(); all > b.all {
		v.Processor = float64(busy-b.busy) / float64(all-b.all)
	}
	took := time.Since(b.at).Seconds()
	for i, asked := range p.asked {
		before, after := b.disciplines[i], now[i]
		met := after.packets - before.packets + after.lost - before.lost
		if !asked.shaped {
			continue
		}
		one := Played{
			Link: p.Links[i], Packets: met, AskedDelay: asked.delay.Seconds() * 1e6, AskedLoss: asked.loss, AskedRate: asked.rate,
			Rate: float64(after.bytes-before.bytes) * 8 / took, QueueDropped: after.dropped - before.dropped,
			spread: math.Sqrt(asked.loss * (1 - asked.loss) * (2*asked.burst - 1) / float64(max(met, 1))),
		}
		if met > 0 {
			one.Loss = float64(after.lost-before.lost) / float64(met)
		}
		v.Links = append(v.Links, one)
	}
	return v, nil
}

// echo takes the median of some round trips of small datagrams.
func (p *Plan) echo(from, to int) (median time.Duration, lost int, err error) {
	open := func(host int) (c *net.UDPConn, err error) {
		err = Within(p.Hosts[host], func() (err error) {
			c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: live.AddrOf(host).AsSlice()})
			return err
		})
		return c, err
	}
	near, err := open(from)
	if err != nil {
		return 0, 0, err
	}
	defer near.Close()
	far, err := open(to)
	if err != nil {
		return 0, 0, err
	}
	defer far.Close()
	go func() {
		buf := make([]byte, 8)
		for {
			n, sender, err := far.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = far.WriteToUDPAddrPort(buf[:n], sender) // it may be gone
		}
	}()
	const rounds, mostLost = 21, 5
	var took []time.Duration
	buf := make([]byte, 8)
	for i := byte(0); len(took) < rounds && lost < mostLost; i++ {
		begun := time.Now()
		_, err := near.WriteTo([]byte{i}, far.LocalAddr())
		_ = near.SetReadDeadline(begun.Add(4*p.askedRTT + time.Second))
		for err == nil {
			var n int
			if n, err = near.Read(buf); err == nil && n == 1 && buf[0] == i { // and not one that was late
				took = append(took, time.Since(begun))
				break
			}
		}
		if err != nil {
			lost++
		}
	}
	if len(took) == 0 {
		return 0, lost, fmt.Errorf("netns: nothing comes back to %s from %s", p.Hosts[from], p.Hosts[to])
	}
	slices.Sort(took)
	return took[len(took)/2], lost, nil
}

// A discipline is what the queueing disciplines of a link counted.
type discipline struct{ packets, bytes, lost, dropped uint64 }

// counted reads the queueing disciplines of all links, by the index of the link.
func (p *Plan) counted(ctx context.Context) (map[int]discipline, error) {
	all := make(map[int]discipline)
	for ns, devices := range p.byNamespace() {
		out, err := exec.CommandContext(ctx, "tc", "-n", ns, "-s", "-j", "qdisc", "show").Output()
		if err != nil {
			return nil, fmt.Errorf("netns: counters of queues of %s: %w", ns, err)
		}
		var list []struct {
			Kind, Dev             string
			Packets, Bytes, Drops uint64
		}
		if err := json.Unmarshal(out, &list); err != nil {
			return nil, fmt.Errorf("netns: counters of queues of %s: %w", ns, err)
		}
		for _, q := range list {
			link, ours := devices[q.Dev]
			if !ours {
				continue
			}
			d := all[link]
			switch q.Kind {
			case "netem":
				d.lost += q.Drops
				d.packets, d.bytes = max(d.packets, q.Packets), max(d.bytes, q.Bytes)
			case "tbf":
				d.dropped += q.Drops
				d.packets, d.bytes = max(d.packets, q.Packets), max(d.bytes, q.Bytes)
			}
			all[link] = d
		}
	}
	for link, d := range all { // a netem counts as dropped what its child refuses
		if d.lost >= d.dropped {
			d.lost -= d.dropped
		}
		all[link] = d
	}
	return all, nil
}

func (p *Plan) byNamespace() map[string]map[string]int {
	all := make(map[string]map[string]int)
	for _, d := range p.devices {
		if all[d.namespace] == nil {
			all[d.namespace] = make(map[string]int)
		}
		all[d.namespace][d.name] = d.link
	}
	return all
}

// processors reads how many ticks processors have worked, and how many there were.
func processors() (busy, all uint64) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := bytes.Cut(text, []byte("\n"))
	words := strings.Fields(string(line))
	for i, word := range words[min(1, len(words)):] {
		n := uint64(0)
		_, _ = fmt.Sscan(word, &n)
		const idle, waiting, guest = 3, 4, 8 // guests are in user time already
		if i >= guest {
			break
		}
		if all += n; i != idle && i != waiting {
			busy += n
		}
	}
	return busy, all
}
