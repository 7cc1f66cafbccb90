package workload

import (
	"bufio"
	"fmt"
	"io"
	"math"

	"github.com/weft-transport/weft/compare/workload/lines"
	"github.com/weft-transport/weft/transport/instant"
)

// ReadNS3 reads a flow file of HPCC or ConWeave (ns-3): the number of flows, then one a line,
//
//	src dst 3 dport bytes start_seconds
//
// where 3 is the priority group; ConWeave leaves the port out. nodes is the number of hosts.
// Starts are as written; those tools begin at 2 s.
func ReadNS3(from io.Reader, file string, nodes int) (*Plan, error) {
	r := lines.New(from, file)
	count, err := flowCount(r)
	if err != nil {
		return nil, err
	}
	p := &Plan{Nodes: nodes, names: &names{file: file}}
	for r.Next() {
		if int64(len(p.Flows)) == count {
			return nil, r.Errorf("the first line announces %d flows but there are more", count)
		}
		f, err := ns3Flow(r, nodes)
		if err != nil {
			return nil, err
		}
		p.Flows = append(p.Flows, f)
		p.names.flowLines = append(p.names.flowLines, r.Line)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if int64(len(p.Flows)) != count {
		return nil, r.Errorf("the first line announces %d flows but there are %d", count, len(p.Flows))
	}
	return p, p.Check()
}

func flowCount(r *lines.Reader) (int64, error) {
	if !r.Next() {
		if err := r.Err(); err != nil {
			return 0, err
		}
		return 0, r.Errorf("the file is empty; expected the number of flows")
	}
	if len(r.Fields) != 1 {
		return 0, r.Errorf("%d columns; expected the number of flows alone on the first line", len(r.Fields))
	}
	return r.Whole(r.Fields[0], "number of flows", 1, maxFlows)
}

func ns3Flow(r *lines.Reader, nodes int) (Flow, error) {
	f := Flow{Measured: true}
	fields := r.Fields
	switch len(fields) {
	case 6: // HPCC: with a port
	case 5:
		fields = append(append([]string{}, fields[:3]...), append([]string{"0"}, fields[3:]...)...)
	default:
		return f, r.Errorf("%d columns; expected src dst priority [port] bytes start_seconds", len(fields))
	}
	numbers := make([]int64, 5)
	for i, column := range []struct {
		name string
		high int64
	}{{"src", int64(nodes) - 1}, {"dst", int64(nodes) - 1}, {"priority", 7}, {"port", 65535}, {"bytes", 1 << 50}} {
		var err error
		if numbers[i], err = r.Whole(fields[i], column.name, 0, column.high); err != nil {
			return f, err
		}
	}
	seconds, err := r.Decimal(fields[5], "start_seconds", 0, 1000)
	if err != nil {
		return f, err
	}
	f.Src, f.Dst, f.Bytes = int32(numbers[0]), int32(numbers[1]), uint64(numbers[4])
	f.Start = instant.Time(math.Round(seconds * float64(instant.Second)))
	if f.Src == f.Dst {
		return f, r.Errorf("host %d sends to itself", f.Src)
	}
	return f, nil
}

// WriteNS3 writes a plan as an HPCC flow file whose time 0 is at base. It fails for flows that wait
// for a trigger, which the format cannot say.
func WriteNS3(to io.Writer, p *Plan, base instant.Time) error {
	w := bufio.NewWriter(to)
	fmt.Fprintln(w, len(p.Flows))
	for i := range p.Flows {
		f := &p.Flows[i]
		if f.StartTrigger != 0 {
			return fmt.Errorf("%s: waits for a trigger, which this format cannot say", p.name(int32(i)))
		}
		start := f.Start + base
		fmt.Fprintf(w, "%d %d 3 100 %d %d.%012d\n", f.Src, f.Dst, f.Bytes, start/instant.Second, start%instant.Second)
	}
	return w.Flush()
}
