package report

import "github.com/weft-transport/weft/compare"

// Data is everything a report is made of. Only Runs are needed; ratios are computed from them, without
// Flows it shows quantiles in place of distributions, without Samples it
// has no figures over time.
type Data struct {
	Manifest    compare.Manifest
	Scenarios   []ScenarioInfo // in the order of the report; scenarios of runs that are missing here follow
	Runs        []compare.Run  // protocols are shown in the order in which a scenario first names them
	Flows       []compare.Flow
	Samples     []compare.Sample
	Comparisons []compare.Comparison // written and read back; reports compute their own from Runs
	Timings     []compare.Timing
}

// A ScenarioInfo says in words what the runs of a scenario were. It is the "scenario" line of the
// results. Only Name is needed.
type ScenarioInfo struct {
	Kind        string `json:"kind"` // "scenario"
	Name        string `json:"scenario"`
	Title       string `json:"title"`       // "": Name
	Description string `json:"description"` // one or two sentences
	FabricLine  string `json:"fabric"`      // topology, hosts, rates, delays in one line
	// Family groups scenarios that differ in one number. "ladder" and "ablation" say that each protocol
	// adds one step to the one before it.
	Family string `json:"family,omitempty"`
	// Ladder names by label the protocols of an ablation, in order, where they are not all of them.
	Ladder []string `json:"ladder,omitempty"`
	// Headline names the metric of stats.Metrics that decides this scenario; "" is fct_ns.mean.
	Headline string `json:"headline,omitempty"`
	// Rules are by label what a reader must know of a protocol to judge the comparison.
	Rules map[string][]string `json:"rules,omitempty"`
	// ClassNotes are by label the settings of a protocol's traffic class, in words: equal words are equal
	// settings.
	ClassNotes map[string]string `json:"class_notes,omitempty"`
	// Demonstration says that the runs are too few or too small to be evidence.
	Demonstration bool `json:"demonstration,omitempty"`
	// LossRate is the probability that one packet is lost, for the figure of goodput over loss; 0 is a
	// lossless point of the same sweep, nil is no such sweep.
	LossRate *float64 `json:"loss_rate,omitempty"`
	// Sweep places the scenario on the axis of its family, for families other than loss rates.
	Sweep *SweepPoint `json:"sweep,omitempty"`
	// Column heads the scenario in the table of its family, whose rows are protocols and whose cells are job times
	// over IdealJob; "" is in no such table.
	Column string `json:"column,omitempty"`
	// IdealJob is the least that the flows which the scenario is about can take, by what its busiest link has to carry, in ns; nil: unknown.
	IdealJob *float64 `json:"ideal_job_ns,omitempty"`
	// Also names further tables of the family: jain, lost, queue, beside, spurious.
	Also []string `json:"also,omitempty"`
	// CapacityBps is the most payload that fabric and workload could deliver, in bit/s; nil: unknown.
	CapacityBps *float64 `json:"capacity_bps,omitempty"`
}

// A SweepPoint is one value of the number in which the scenarios of a family differ.
type SweepPoint struct {
	Axis  string  `json:"axis"` // what it is, with its unit: "senders", "message size (bytes)"
	Value float64 `json:"value"`
	Log   bool    `json:"log,omitempty"` // the axis is logarithmic
}
