package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-transport/weft/compare/perf"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/param"
)

type listCmd struct {
	What string `arg:"" optional:"" enum:"all,scenarios,protocols,sockets,congestion,sprayers,routing,topologies,workloads,faults" default:"all" help:"scenarios, protocols, sockets (protocols of weft perf), congestion, sprayers, routing (of switches), topologies, workloads or faults; all by default."`
}

func (c *listCmd) Run(a *app) error {
	lists := []struct {
		name  string
		print func(io.Writer)
	}{
		{"scenarios", listScenarios},
		{"protocols", listProtocols},
		{"sockets", func(w io.Writer) { listEntries(w, perf.Protocols.All()) }},
		{"congestion", func(w io.Writer) { listAlgorithms(w, congestion.Registry.All()) }},
		{"sprayers", func(w io.Writer) { listAlgorithms(w, spray.Registry.All()) }},
		{"routing", func(w io.Writer) { listEntries(w, emulator.Routers.All()) }},
		{"topologies", listTopologies},
		{"workloads", func(w io.Writer) { listSetups(w, workload.Registry.All()) }},
		{"faults", listFaults},
	}
	for _, l := range lists {
		if c.What != "all" && c.What != l.name {
			continue
		}
		fmt.Fprintf(a.stdout, "%s\n\n", strings.ToUpper(l.name))
		l.print(a.stdout)
	}
	return nil
}

// listAlgorithms lists what has defaults from papers.
func listAlgorithms[T any](w io.Writer, entries []param.Entry[T]) {
	fmt.Fprint(w, "  Defaults are those of the source, unless a parameter names another; each says how it scales with rate and RTT.\n\n")
	listEntries(w, entries)
}

// setupsSay stands over what says what is asked of a transport, and not how it is answered.
const setupsSay = "  These say what is asked. Defaults are ours unless a parameter names another, for runs of seconds; counts, of hosts, switches,\n" +
	"  cables, messages and so on, do not scale with rate and RTT: that the question stays the same is the point.\n\n"

func listSetups[T any](w io.Writer, entries []param.Entry[T]) {
	fmt.Fprint(w, setupsSay)
	listEntries(w, entries)
}

func listTopologies(w io.Writer) {
	listSetups(w, emulator.Topologies.All())
	fmt.Fprint(w, "  fields of fabric that every topology has\n")
	listParams(w, scenario.FabricFields, "      ")
	fmt.Fprintln(w)
}

func listEntries[T any](w io.Writer, entries []param.Entry[T]) {
	for _, e := range entries {
		fmt.Fprintf(w, "  %s: %s\n", e.Name, e.Doc)
		if e.Source != "" {
			fmt.Fprintf(w, "      source: %s\n", e.Source)
		}
		listParams(w, e.Params, "      ")
		fmt.Fprintln(w)
	}
}

func listParams(w io.Writer, params []param.Param, indent string) {
	width := 0
	for _, p := range params {
		width = max(width, len(p.Name)+1+len(p.Default))
	}
	for _, p := range params {
		kind := p.Kind.String()
		if p.Kind == param.Choice {
			kind += ": one of " + strings.Join(p.Of.Names(), ", ")
		}
		if len(p.OneOf) > 0 {
			kind = "one of " + strings.Join(p.OneOf, ", ")
		}
		fmt.Fprintf(w, "%s%-*s  %s (%s)\n", indent, width, p.Name+"="+p.Default, p.Doc, kind)
	}
}

func listScenarios(w io.Writer) {
	family := ""
	for _, b := range scenario.Builtins() {
		if b.Family != family {
			family = b.Family
			fmt.Fprintf(w, "  family %s\n", family)
		}
		fmt.Fprintf(w, "    %-22s %s\n", b.Name, b.Description)
	}
	fmt.Fprintln(w)
}

func listProtocols(w io.Writer) {
	for _, e := range protocol.Registry.All() {
		fmt.Fprintf(w, "  %s: %s\n      source: %s\n", e.Name, e.Doc, e.Source)
		listParams(w, e.Params, "      ")
		if p, _, err := protocol.Registry.Make(e.Name, nil); err == nil {
			defaults := p.ClassDefaults()
			fmt.Fprint(w, "      class:")
			for _, cp := range protocol.ClassParams {
				if text, set := defaults[cp.Name]; set {
					fmt.Fprintf(w, " class.%s=%s", cp.Name, text)
				}
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "  settings of a class, for every protocol as class.NAME=VALUE\n")
	listParams(w, protocol.ClassParams, "      ")
	fmt.Fprintln(w)
}

func listFaults(w io.Writer) {
	for _, k := range scenario.FaultKinds {
		fmt.Fprintf(w, "  %-9s %s; fields: at, for, %s\n", k.Name, k.Doc, strings.Join(append([]string{faultPlace(k.Name)}, k.Fields...), ", "))
	}
	fmt.Fprintln(w)
}

func faultPlace(kind string) string {
	if kind == "slowhost" {
		return "host"
	}
	return "link"
}
