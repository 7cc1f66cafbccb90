package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"

	weft "github.com/weft-transport/weft"
	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/emulator/live"
)

// linkCounts are what a carrier counted at the sending end of a link. What it cannot tell is 0.
type linkCounts struct {
	Packets, Bytes, Dropped, Marked uint64
	Queued, MaxQueued               int64 // bytes, now and at most
	Classes                         []classCounts
}

// classCounts are the queue of one of several classes at a link, as results keep it.
type classCounts struct {
	Class    string  `json:"class"`
	MaxQueue int64   `json:"max_queue_bytes"`
	Dropped  uint64  `json:"dropped_packets,omitempty"` // by this queue
	Paused   float64 `json:"paused_us,omitempty"`

	queued int64
}

// A linkTable shows what links carry while programs run.
type linkTable struct {
	names []string
	read  func(ctx context.Context) ([]linkCounts, error)
	first []linkCounts // before the programs
	last  []linkCounts
	at    time.Duration

	dilation float64 // seconds of the wall that one of the network takes; rates are the network's
}

func newLinkTable(ctx context.Context, names []string, dilation float64, read func(ctx context.Context) ([]linkCounts, error)) (*linkTable, error) {
	before, err := read(ctx)
	return &linkTable{names: names, read: read, first: before, last: before, dilation: dilation}, err
}

// since says how long programs have run.
func (t *linkTable) since(wall time.Duration) string {
	text := wall.Round(10 * time.Millisecond).String()
	if t.dilation != 1 {
		text += fmt.Sprintf(" (%v of the network)", t.network(wall).Round(time.Millisecond))
	}
	return text
}

// network is the network's time for a time of the wall.
func (t *linkTable) network(wall time.Duration) time.Duration {
	return time.Duration(float64(wall) / t.dilation)
}

// A linkRow is what one link carried, as results keep it.
type linkRow struct {
	Kind     string `json:"kind"` // "link"
	Link     string `json:"link"`
	Packets  uint64 `json:"packets"`
	Bytes    uint64 `json:"bytes"`
	Dropped  uint64 `json:"dropped_packets"` // by the queue of its sending end, on its wire, or behind it
	Marked   uint64 `json:"marked_packets,omitempty"`
	MaxQueue int64  `json:"max_queue_bytes,omitempty"`

	Classes []classCounts `json:"classes,omitempty"` // since the network is up; the others, since the commands began

	queued int64
}

// A validity says how well a network was played.
type validity interface {
	fmt.Stringer
	json.Marshaler
}

// A runRow heads the results of weft emulate run.
type runRow struct {
	Kind     string   `json:"kind"` // "emulation"
	Scenario string   `json:"scenario"`
	Carrier  string   `json:"carrier"`
	Why      string   `json:"why,omitempty"` // of the carrier
	Dilation float64  `json:"dilation"`
	Seed     uint64   `json:"seed,omitempty"`
	Netem    []string `json:"netem,omitempty"`
	Set      []string `json:"set,omitempty"`
	Queue    int64    `json:"queue_bytes"`
	ECNMin   int64    `json:"ecn_min_bytes,omitempty"`
	ECNMax   int64    `json:"ecn_max_bytes,omitempty"`
	Commands []string `json:"commands"`
	Seconds  float64  `json:"seconds"`
	Validity validity `json:"validity"` // live.Validity, or netns.Validity
	Version  string   `json:"version"`
	Source   string   `json:"source"`
}

func (t *linkTable) rows(before, after []linkCounts) []linkRow {
	var rows []linkRow
	for i, name := range t.names {
		a, b := before[i], after[i]
		rows = append(rows, linkRow{"link", name, b.Packets - a.Packets, b.Bytes - a.Bytes, b.Dropped - a.Dropped, b.Marked - a.Marked, b.MaxQueued, b.Classes, b.Queued})
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].Bytes > rows[j].Bytes })
	return rows
}

// show prints the links that carried most since the last time.
func (t *linkTable) show(a *app, now time.Duration) {
	counts, err := t.read(a.ctx)
	if err != nil {
		return // the next time, or the end, says so
	}
	rows := t.rows(t.last, counts)
	span := now - t.at
	t.last, t.at = counts, now
	fmt.Fprintln(a.stderr, t.since(now.Round(100*time.Millisecond)))
	printLinks(a.stderr, rows, t.network(span), 8)
}

func printLinks(w io.Writer, rows []linkRow, span time.Duration, most int) {
	for i, r := range rows {
		if i == most || r.Packets == 0 {
			return
		}
		fmt.Fprintf(w, "  %-20s %9.1f Mbit/s %9d packets %7d dropped", r.Link, float64(r.Bytes)*8/1e6/span.Seconds(), r.Packets, r.Dropped)
		if r.MaxQueue > 0 {
			fmt.Fprintf(w, " %7d marked %8d bytes queued (most %d)", r.Marked, r.queued, r.MaxQueue)
		}
		fmt.Fprintln(w)
		for _, c := range r.Classes {
			if c.MaxQueue == 0 && c.Dropped == 0 && c.Paused == 0 {
				continue
			}
			fmt.Fprintf(w, "    class %-14s %8d bytes queued (most %d) %7d dropped by the queue", c.Class, c.queued, c.MaxQueue, c.Dropped)
			if c.Paused > 0 {
				fmt.Fprintf(w, " %9.1f ms paused", c.Paused/1e3)
			}
			fmt.Fprintln(w)
		}
	}
}

// finish keeps what links carried in all.
func (c *emulateRunCmd) finish(a *app, n *wallNetwork, t *linkTable, span time.Duration) error {
	counts, err := t.read(a.ctx)
	if err != nil {
		if a.ctx.Err() != nil {
			return nil
		}
		return err
	}
	head := runRow{
		Kind: "emulation", Scenario: n.scenario.Name, Carrier: n.carrier, Why: n.why, Dilation: c.Dilation, Netem: c.Netem, Set: c.Set,
		Queue: c.Queue, ECNMin: c.ECNMin, ECNMax: c.ECNMax, Seconds: span.Seconds(), Version: weft.Version, Source: campaign.SourceHash(),
	}
	for _, o := range c.On {
		head.Commands = append(head.Commands, o.host+": "+o.command)
	}
	var shaped []live.Shaped
	if n.fabric != nil {
		v := n.fabric.Validity()
		head.Validity, head.Seed, shaped = v, n.scenario.Seeds.List[0], v.Shaped
	} else if head.Validity, err = n.plan.Validity(a.ctx, n.baseline); err != nil {
		return err
	}
	rows := t.rows(t.first, counts)
	file, err := os.Create(filepath.Join(c.Out, "links.jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	out := json.NewEncoder(file)
	if err := out.Encode(head); err != nil {
		return err
	}
	for i := range rows {
		if err := out.Encode(&rows[i]); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stderr, "in all, %s:\n", t.since(span))
	printLinks(a.stderr, rows, t.network(span), 16)
	printShaped(a.stderr, shaped)
	fmt.Fprintf(a.stderr, "validity: %v\n", head.Validity)
	return nil
}

// printShaped sets beside each other what netems were asked for and what packets met, of the links that carried most.
func printShaped(w io.Writer, all []live.Shaped) {
	var used []live.Shaped
	for _, s := range all {
		if s.Packets > 0 {
			used = append(used, s)
		}
	}
	sort.SliceStable(used, func(i, j int) bool { return used[i].Packets > used[j].Packets })
	for i, s := range used {
		if i == 8 {
			fmt.Fprintf(w, "  ... and %d more links with a netem\n", len(used)-i)
			return
		}
		fmt.Fprintf(w, "  %-20s delay %.0f us (asked %.0f), loss %.3g %% (asked %.3g), %.1f Mbit/s (at most %.1f)\n",
			s.Link, s.Delay, s.AskedDelay, 100*s.Loss, 100*s.AskedLoss, s.Rate/1e6, float64(s.AskedRate)/1e6)
	}
}
