package scenario

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/instant"
)

// A Loss says how a link loses packets, in one direction, apart from full queues. All parts act
// on their own.
type Loss struct {
	Random  float64 // probability for a full packet; smaller ones are lost less often, in proportion to their size
	Corrupt float64 // probability that a full packet arrives damaged and fails its checksum
	Every   int64   // every n-th data packet is lost; 0: none
	Burst   Burst
	Netem   string // what a packet meets at the far end, as tc writes it; its delay and rate count in round trips and ideals
}

// IsZero tells whether nothing is lost.
func (l Loss) IsZero() bool { return l == Loss{} }

// A Burst is the Gilbert-Elliott model: the link wanders between a good and a bad state whose
// lengths are exponentially distributed in time, so that all protocols meet the same weather. Either
// both means are set, or P and R.
type Burst struct {
	MeanGood, MeanBad instant.Time // mean length of each state
	// P and R are the chances to leave the good and the bad state within the time that a full
	// packet takes on the link: the model as it is usually written down.
	P, R              float64
	LossGood, LossBad float64 // probability of loss in each state
}

// IsZero tells whether there are no bursts.
func (b Burst) IsZero() bool { return b == Burst{} }

// Means returns the mean lengths of the states on a link where a full packet takes packetTime.
func (b Burst) Means(packetTime instant.Time) (good, bad instant.Time) {
	if b.P == 0 {
		return b.MeanGood, b.MeanBad
	}
	return instant.Time(math.Round(float64(packetTime) / b.P)), instant.Time(math.Round(float64(packetTime) / b.R))
}

// Average returns the long-run probability of loss.
func (b Burst) Average() float64 {
	if b.IsZero() {
		return 0
	}
	good, bad := b.Means(instant.Microsecond)
	share := float64(bad) / (float64(good) + float64(bad))
	return float64(b.LossBad*share) + float64(b.LossGood*(1-share))
}

// A LinkLoss replaces the fabric's loss on some links.
type LinkLoss struct {
	Link   string // a name or a pattern
	OneWay bool   // not in the other direction
	Links  []int  // the links it stands for, by index
	Loss
}

// readLosses reads the loss of the fabric and of single links.
func readLosses(r *reader, f *Fabric) {
	f.Loss = readLoss(r)
	for i, n := range r.list("links", "mappings {link: NAME, ...}") {
		e := r.element("links", i, n)
		l := LinkLoss{Link: e.text("link", ""), OneWay: e.flag("oneway", false), Loss: readLoss(e)}
		e.done()
		if *r.err != nil {
			return
		}
		if l.Link == "" {
			e.fail(nil, "link", "is missing; expected the name of a link or a pattern")
			return
		}
		var err error
		if l.Links, err = f.links(l.Link, l.OneWay); err != nil {
			e.fail(e.node.Child("link"), "link", err.Error())
		}
		f.LinkLoss = append(f.LinkLoss, l)
	}
	r.done()
	f.shapeLinks()
}

func readLoss(r *reader) Loss {
	return Loss{
		Random:  r.fraction("random", 0),
		Corrupt: r.fraction("corrupt", 0),
		Every:   r.whole("every", 0, 0, 1<<40),
		Burst:   readBurst(r.mapping("burst")),
		Netem:   readNetem(r),
	}
}

// readNetem reads a line of tc, and returns it as netem writes it.
func readNetem(r *reader) string {
	line := r.text("netem", "")
	p, err := netem.Parse(line, nil)
	if err != nil {
		r.fail(r.node.Child("netem"), "netem", err.Error())
	}
	return p.String()
}

// SetNetem gives links a netem, instead of what the scenario says: "LINE", as tc writes it, for all of them, or
// "LINK=LINE" for those of a name or pattern, in both directions.
func (f *Fabric) SetNetem(text string) error {
	pattern, line, some := strings.Cut(text, "=")
	if !some {
		pattern, line = "*", text
	}
	links, err := f.links(pattern, false)
	if err != nil {
		return err
	}
	p, err := netem.Parse(line, nil)
	if err != nil {
		return err
	}
	for _, l := range links {
		f.Network.Links[l].Netem = &p
	}
	return nil
}

// shapeLinks gives the links of the network their netems.
func (f *Fabric) shapeLinks() {
	for i, l := range f.LossByLink() {
		if l.Netem == "" {
			continue
		}
		p, err := netem.Parse(l.Netem, nil)
		if err != nil {
			panic(err) // what netem writes it reads
		}
		f.Network.Links[i].Netem = &p
	}
}

func readBurst(r *reader) Burst {
	if len(r.node.Keys) == 0 {
		return Burst{}
	}
	b := Burst{
		MeanGood: r.time("meanGood", 0),
		MeanBad:  r.time("meanBad", 0),
		P:        r.fraction("p", 0),
		R:        r.fraction("r", 0),
		LossGood: r.fraction("lossGood", 0),
		LossBad:  r.fraction("lossBad", 1),
	}
	r.done()
	byTime, byPacket := b.MeanGood > 0 && b.MeanBad > 0, b.P > 0 && b.R > 0
	if byTime == byPacket || b.MeanGood == instant.Never || b.MeanBad == instant.Never {
		r.fail(nil, "", "expected either meanGood and meanBad (times) or p and r (chances per packet), all above 0")
	}
	return b
}

// CheckEvery tells whether losing every n-th packet lets a go-back-N sender make progress: with a
// window of n packets or more, each round sends the same packets again and loses the same one.
func CheckEvery(n, windowPackets int64) error {
	if n == 0 || n > windowPackets {
		return nil
	}
	return fmt.Errorf("fabric.loss.every: %d: go-back-N with a window of %d packets would lose the same packet in every round and never end; expected more than %d", n, windowPackets, windowPackets)
}
