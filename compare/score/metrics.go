package score

import (
	"math"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/congestion/bottleneck"
)

// A Metric is a column of the card.
type Metric struct {
	Key, Title, Doc string
	Overall         bool // counts in the overall figure; smaller is better
	scenario        string
	of              func(*compare.Run) *float64
}

// Metrics are all columns, in their order.
var Metrics = []Metric{
	{"permutation", "perm.", "permutation: completion of the last flow over its ideal", true, "score-permutation", slowest},
	{"incast_8", "incast 8", "time until all eight are done, over that of a last link which is never idle", true, "score-incast-8", whole},
	{"incast_32", "incast 32", "the same with 32 senders", true, "score-incast-32", group("incast", whole)},
	{"victim", "victim", "completion of a flow beside that incast, with which it shares no bottleneck, over its ideal", true, "score-incast-32", group("victim", slowest)},
	{"jain", "Jain", "fairness of four long flows into one host: 1 is even", false, "score-fair", func(r *compare.Run) *float64 { return r.Goodput.Jain }},
	{"converged_us", "conv. us", "package bottleneck, setup join: after the last of four flows joined, until the shares are even and stay so; - is never", false, "", nil},
	{"loss", "loss", "as permutation, with one packet in 1024 lost on every link", true, "score-loss", slowest},
	{"degraded", "slow link", "as permutation, with one uplink at half its rate", true, "score-degraded", slowest},
	{"queue_peak_bytes", "queue KB", "longest queue in the permutation", false, "score-permutation", func(r *compare.Run) *float64 { return &r.QueueBytes.Max }},
	{"gone", "gone %", "data packets trimmed or dropped in the incast of 32, of those sent", false, "score-incast-32", func(r *compare.Run) *float64 { v := 100 * r.LossEndToEnd; return &v }},
}

// slowest is the greatest slowdown; nil when a flow did not finish.
func slowest(r *compare.Run) *float64 {
	if r.Finished < r.Flows {
		return nil
	}
	return r.Slowdown.Max
}

// whole is what the last link could deliver over what it did; nil when a flow did not finish.
func whole(r *compare.Run) *float64 {
	if r.Finished < r.Flows || r.Goodput.Total == nil {
		return nil
	}
	v := payloadBps / *r.Goodput.Total
	return &v
}

// payloadBps is the payload that a link of the standard scenarios can carry: 400 Gb/s in packets of 4096 bytes that
// have about 100 bytes of headers and gaps around them.
const payloadBps = 400e9 * 4096 / 4200

// group looks at one group of flows only.
func group(name string, of func(*compare.Run) *float64) func(*compare.Run) *float64 {
	return func(r *compare.Run) *float64 {
		only := r.Of(name)
		if only == nil {
			return nil
		}
		return of(only)
	}
}

// A Row is what one algorithm got: the "score" line of the results. A value is null where it could not be had:
// flows that did not finish, runs that were not made, convergence that never came.
type Row struct {
	Kind       string              `json:"kind"` // "score"
	Algorithm  string              `json:"algorithm"`
	Protocol   string              `json:"protocol"`
	Tested     bool                `json:"tested"`
	Overall    *float64            `json:"overall"` // geometric mean, over the columns that count, of the value over the best of the column
	Values     map[string]*float64 `json:"values"`  // by Metric.Key; means over the seeds
	Seeds      int                 `json:"seeds"`
	Unfinished int                 `json:"unfinished_flows"`
}

// fill reduces the runs of a contestant.
func (r *Row) fill(runs []compare.Run) {
	r.Values = map[string]*float64{}
	for i := range runs {
		r.Unfinished += runs[i].Flows - runs[i].Finished
	}
	for _, m := range Metrics {
		sum, n := 0.0, 0
		for i := range runs {
			if runs[i].Scenario != m.scenario {
				continue
			}
			v := m.of(&runs[i])
			if v == nil {
				n = 0
				break
			}
			sum += *v
			n++
		}
		r.Values[m.Key] = nil
		if n > 0 {
			mean := sum / float64(n)
			r.Values[m.Key], r.Seeds = &mean, n
		}
	}
}

// converge fills the column that needs no network.
func (r *Row) converge(c contestant) error {
	maker, _, err := congestion.Registry.Make(c.name, c.given)
	if err != nil {
		return err
	}
	for _, s := range bottleneck.Standard() {
		if s.Name != "join" {
			continue
		}
		if after := bottleneck.Run(maker, s).Score().Converged; after >= 0 {
			us := after.Seconds() * 1e6
			r.Values["converged_us"] = &us
		}
	}
	return nil
}

// overall compares the rows with the best of each column. A row with a gap gets none.
func overall(rows []Row) {
	best := map[string]float64{}
	for _, m := range Metrics {
		for i := range rows {
			if v := rows[i].Values[m.Key]; v != nil && (best[m.Key] == 0 || *v < best[m.Key]) {
				best[m.Key] = *v
			}
		}
	}
	for i := range rows {
		sum, n, whole := 0.0, 0, true
		for _, m := range Metrics {
			if !m.Overall || best[m.Key] == 0 {
				continue
			}
			v := rows[i].Values[m.Key]
			if v == nil {
				whole = false
				break
			}
			sum += math.Log(*v / best[m.Key])
			n++
		}
		if whole && n > 0 {
			mean := math.Exp(sum / float64(n))
			rows[i].Overall = &mean
		}
	}
}
