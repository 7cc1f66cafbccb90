package workload

import (
	"errors"
	"fmt"
	"path"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "ns3",
		Doc:    "a flow file of the ns-3 simulators of HPCC or ConWeave",
		Source: "HPCC, SIGCOMM 2019; ConWeave, SIGCOMM 2023",
		Params: []param.Param{
			{Name: "file", Kind: param.Word, Doc: "the flow file: count, then src dst priority [port] bytes start_seconds"},
			{Name: "from", Kind: param.Duration, Doc: "time in the file that is the start of the run; derived: that of the first flow; not scaled", Max: float64(1000 * instant.Second)},
			{Name: "warmup", Kind: param.Duration, Default: "0", Doc: "flows that start in this time are not measured; not scaled", Max: float64(1000 * instant.Second)},
			{Name: "duration", Kind: param.Duration, Default: "0", Doc: "flows that start later than this after the warm-up are not measured; 0: all are; not scaled", Max: float64(1000 * instant.Second)},
		},
		New: newNS3,
	})
}

func newNS3(v param.Values) (Generator, error) {
	if !v.Has("file") {
		return nil, errors.New("file is missing; expected the name of a flow file")
	}
	return func(e Env) (*Plan, error) {
		name := v.Word("file")
		file, err := e.open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		p, err := ReadNS3(file, name, e.Hosts)
		if err != nil {
			return nil, err
		}
		return p, p.rebase(v, path.Base(name))
	}, nil
}

// rebase makes starts count from the start of the run and sets the window of measurement.
func (p *Plan) rebase(v param.Values, name string) error {
	first := p.Flows[0].Start
	for i := range p.Flows {
		first = min(first, p.Flows[i].Start)
	}
	base := first
	if v.Has("from") {
		base = v.Time("from")
	}
	if base > first {
		return fmt.Errorf("from: %v is after the first flow of %s, which starts at %v", base, name, first)
	}
	p.MeasureFrom, p.MeasureUntil = v.Time("warmup"), instant.Never
	if d := v.Time("duration"); d > 0 {
		p.MeasureUntil = p.MeasureFrom + d
	}
	for i := range p.Flows {
		f := &p.Flows[i]
		f.Start -= base
		f.Measured = f.Start >= p.MeasureFrom && f.Start < p.MeasureUntil
	}
	p.Notes = append(p.Notes, fmt.Sprintf("start times of %s are counted from %v", name, base))
	return nil
}
