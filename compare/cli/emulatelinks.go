package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/weft-transport/weft/emulator/netns"
)

// A linkTable shows what links carry while programs run.
type linkTable struct {
	plan  *netns.Plan
	first map[int]netns.Counters // before the programs
	last  map[int]netns.Counters
	at    time.Duration
}

func newLinkTable(p *netns.Plan, before map[int]netns.Counters) *linkTable {
	return &linkTable{plan: p, first: before, last: before}
}

// A linkRow is what one link carried, as results keep it.
type linkRow struct {
	Kind    string `json:"kind"` // "link"
	Link    string `json:"link"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	Dropped uint64 `json:"dropped_packets"` // by the queue of its sending end
}

func (t *linkTable) rows(since, until map[int]netns.Counters) []linkRow {
	var rows []linkRow
	for i, name := range t.plan.Links {
		a, b := since[i], until[i]
		rows = append(rows, linkRow{"link", name, b.Packets - a.Packets, b.Bytes - a.Bytes, b.Dropped - a.Dropped})
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].Bytes > rows[j].Bytes })
	return rows
}

// show prints the links that carried most since the last time.
func (t *linkTable) show(a *app, now time.Duration) {
	counts, err := t.plan.Counters(a.ctx)
	if err != nil {
		return // the next time, or the end, says so
	}
	rows := t.rows(t.last, counts)
	span := now - t.at
	t.last, t.at = counts, now
	fmt.Fprintf(a.stderr, "%v\n", now.Round(100*time.Millisecond))
	printLinks(a.stderr, rows, span, 8)
}

func printLinks(w io.Writer, rows []linkRow, span time.Duration, most int) {
	for i, r := range rows {
		if i == most || r.Packets == 0 {
			return
		}
		fmt.Fprintf(w, "  %-20s %9.1f Mbit/s %9d packets %7d dropped\n", r.Link, float64(r.Bytes)*8/1e6/span.Seconds(), r.Packets, r.Dropped)
	}
}

// finish keeps what links carried in all.
func (c *emulateRunCmd) finish(a *app, p *netns.Plan, t *linkTable, span time.Duration) error {
	counts, err := p.Counters(a.ctx)
	if err != nil {
		if a.ctx.Err() != nil {
			return nil
		}
		return err
	}
	rows := t.rows(t.first, counts)
	file, err := os.Create(filepath.Join(c.Out, "links.jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	out := json.NewEncoder(file)
	for i := range rows {
		if err := out.Encode(&rows[i]); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stderr, "in all, %v:\n", span.Round(10*time.Millisecond))
	printLinks(a.stderr, rows, span, 16)
	return nil
}
