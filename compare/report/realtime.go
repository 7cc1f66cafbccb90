package report

import (
	"fmt"
	"slices"

	"github.com/weft-transport/weft/compare"
)

// realTime are the runs of a row that were made in wall-clock time.
func (r *row) realTime() (runs []*compare.Run) {
	for _, run := range r.runs {
		if run.RealTime != nil {
			runs = append(runs, run)
		}
	}
	return runs
}

// invalid are the runs of a row that are not to be believed.
func (r *row) invalid() (runs []*compare.Run) {
	for _, run := range r.realTime() {
		if run.RealTime.Invalid() != "" {
			runs = append(runs, run)
		}
	}
	return runs
}

// isInvalid says that figures of a row are not to be believed, since some of its runs are not.
func (r *row) isInvalid() bool { return len(r.invalid()) > 0 }

// invalidNote says why; "" if nothing is known against a row.
func (r *row) invalidNote() string {
	runs := r.invalid()
	if len(runs) == 0 {
		return ""
	}
	return fmt.Sprintf("INVALID in %d of %s, as with seed %d: %s", len(runs), plural(len(r.runs), "run"), runs[0].Seed, runs[0].RealTime.Invalid())
}

// invalidFinding says that figures of a scenario are not to be believed; "" if nothing is known against them.
func (b *block) invalidFinding() string {
	bad, all := 0, 0
	for _, r := range b.rows {
		bad += len(r.invalid())
		all += len(r.runs)
	}
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s in wall-clock time are INVALID, since packets were later than the limits allow: what is found here is not evidence. A higher --dilation makes the same lateness count less.", bad, plural(all, "run"))
}

// realTimeTable is what carried the runs of wall-clock time, and how late packets were: the worst of the runs of each row. It
// has no rows for virtual time.
func realTimeTable(b *block) *textTable {
	table := &textTable{columns: []column{
		{head: "in wall-clock time", left: true}, {head: "verdict", left: true}, {head: "carried by", left: true, keep: 5}, {head: "dilation", keep: 4},
		{head: "datagrams", keep: 3}, {head: "late by p50"}, {head: "p99"}, {head: "most", keep: 2}, {head: "endpoints p99", keep: 3}, {head: "unread", keep: 1}, {head: "processors", keep: 1},
	}}
	for _, r := range b.rows {
		runs := r.realTime()
		if len(runs) == 0 {
			continue
		}
		measured := slices.DeleteFunc(slices.Clone(runs), func(run *compare.Run) bool { return run.RealTime.Validity == nil })
		worst := func(runs []*compare.Run, of func(*compare.Run) float64) float64 {
			return of(slices.MaxFunc(runs, func(x, y *compare.Run) int { return int(max(min(of(x)-of(y), 1), -1)) }))
		}
		first := runs[0].RealTime
		cells := []string{r.label, verdict(r), first.Carrier + ": " + first.Path, number(first.Dilation)}
		endpoints := none
		if first.Endpoints > 0 {
			endpoints = Duration(1e3 * worst(runs, func(run *compare.Run) float64 { return run.RealTime.Endpoints }))
		}
		if len(measured) == 0 {
			table.add(append(cells, none, none, none, none, endpoints, none, none)...)
		} else {
			late := func(of func(*compare.Run) float64) string { return Duration(1e3 * worst(measured, of)) }
			table.add(append(cells, Count((&row{runs: measured}).mean(func(run *compare.Run) float64 { return float64(run.RealTime.Validity.Datagrams) })),
				late(func(run *compare.Run) float64 { return run.RealTime.Validity.LatenessP50 }), late(func(run *compare.Run) float64 { return run.RealTime.Validity.LatenessP99 }),
				late(func(run *compare.Run) float64 { return run.RealTime.Validity.LatenessMax }), endpoints, Count(worst(measured, func(run *compare.Run) float64 { return float64(run.RealTime.Validity.Unread) })),
				Percent(worst(measured, func(run *compare.Run) float64 { return run.RealTime.Validity.Processor })))...)
		}
		for _, note := range first.Notes {
			table.note(note)
		}
	}
	return table
}

// verdict is that of all runs of a row.
func verdict(r *row) string {
	switch bad := len(r.invalid()); {
	case bad > 0:
		return fmt.Sprintf("INVALID (%d of %d)", bad, len(r.runs))
	case slices.ContainsFunc(r.realTime(), func(run *compare.Run) bool { return run.RealTime.Validity == nil }):
		return "not known"
	}
	return "valid"
}
