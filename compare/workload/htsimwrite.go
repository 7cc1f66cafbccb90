package workload

import (
	"bufio"
	"fmt"
	"io"

	"github.com/weft-transport/weft/transport/instant"
)

// WriteHtsim writes a plan as a connection matrix that ReadHtsim and the htsim tools read. unit is
// what start counts. It fails where the format has no words: empty messages (size 0 is an endless
// flow there) and starts between two units.
func WriteHtsim(to io.Writer, p *Plan, unit instant.Time) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "Nodes %d\nConnections %d\n", p.Nodes, len(p.Flows))
	if len(p.Triggers) > 0 {
		fmt.Fprintf(w, "Triggers %d\n", len(p.Triggers))
	}
	for i := range p.Flows {
		if err := writeConnection(w, p, i, unit); err != nil {
			return err
		}
	}
	for i, t := range p.Triggers {
		fmt.Fprintf(w, "trigger id %d %v", i+1, t.Kind)
		if t.Kind == Barrier {
			fmt.Fprintf(w, " count %d", t.Count)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func writeConnection(w io.Writer, p *Plan, i int, unit instant.Time) error {
	f := &p.Flows[i]
	if f.Bytes == 0 {
		return fmt.Errorf("%s: an empty message cannot be written: size 0 is an endless flow in this format", p.name(int32(i)))
	}
	fmt.Fprintf(w, "%d->%d id %d", f.Src, f.Dst, i+1)
	switch {
	case f.StartTrigger != 0:
		fmt.Fprintf(w, " trigger %d", f.StartTrigger)
	case f.Start%unit != 0:
		return fmt.Errorf("%s: starts at %v, which is no whole number of %v", p.name(int32(i)), f.Start, unit)
	default:
		fmt.Fprintf(w, " start %d", f.Start/unit)
	}
	fmt.Fprintf(w, " size %d", f.Bytes)
	if f.SendDone != 0 {
		fmt.Fprintf(w, " send_done_trigger %d", f.SendDone)
	}
	if f.RecvDone != 0 {
		fmt.Fprintf(w, " recv_done_trigger %d", f.RecvDone)
	}
	_, err := fmt.Fprintln(w)
	return err
}
