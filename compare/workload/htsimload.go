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
		Name:   "htsim",
		Doc:    "a connection matrix of the htsim family, with its triggers",
		Source: "csg-htsim and uet-htsim, connection_matrices",
		Params: []param.Param{
			{Name: "file", Kind: param.Word, Doc: "the .cm or .tm file"},
			{Name: "startUnit", Kind: param.Word, Default: "us", OneOf: []string{"us", "ns", "ps"}, Doc: "what start counts: htsim_uec takes microseconds, csg-htsim and the generators picoseconds"},
			jitterParam,
		},
		New: newHtsim,
	})
}

func newHtsim(v param.Values) (Generator, error) {
	if !v.Has("file") {
		return nil, errors.New("file is missing; expected the name of a connection matrix")
	}
	unit, err := param.ParseTime("1" + v.Word("startUnit"))
	if err != nil {
		return nil, err
	}
	return func(e Env) (*Plan, error) {
		p, err := e.htsim(v.Word("file"), unit)
		if err != nil {
			return nil, err
		}
		p.Notes = append(p.Notes, fmt.Sprintf("start times of %s are read as %s", path.Base(v.Word("file")), v.Word("startUnit")))
		p.stagger(v.Time("startJitter"), e.Jitter)
		return p, nil
	}, nil
}

func (e Env) htsim(name string, unit instant.Time) (*Plan, error) {
	file, err := e.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p, err := ReadHtsim(file, name, unit)
	if err == nil && p.Nodes != e.Hosts {
		err = fmt.Errorf("%s is for %d hosts, the fabric has %d", name, p.Nodes, e.Hosts)
	}
	return p, err
}
