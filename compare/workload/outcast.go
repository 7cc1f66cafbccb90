package workload

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "outcast",
		Doc:    "one host sends to many at the same time",
		Source: "the mirror image of an incast",
		Params: []param.Param{
			{Name: "degree", Kind: param.Int, Default: "8", Doc: "number of receivers, drawn at random", Min: 1, Max: 1 << 24},
			sizeParam("2MiB", "bytes to each receiver"),
			{Name: "sender", Kind: param.Int, Doc: "the host that sends; derived: drawn at random (seed: matrix)", Max: 1 << 30},
			jitterParam,
		},
		New: func(v param.Values) (Generator, error) {
			return func(e Env) (*Plan, error) { return outcast(v, e) }, nil
		},
	})
}

func outcast(v param.Values, e Env) (*Plan, error) {
	degree := int(v.Int("degree"))
	if degree >= e.Hosts {
		return nil, fmt.Errorf("degree: a sender and %d receivers need %d hosts, the fabric has %d", degree, degree+1, e.Hosts)
	}
	order := streamOf(e.Matrix, 0).order(e.Hosts)
	sender := order[0]
	if v.Has("sender") {
		if given := v.Int("sender"); given >= 0 && given < int64(e.Hosts) {
			sender = int32(given)
		} else {
			return nil, fmt.Errorf("sender: host %d is outside 0 to %d", given, e.Hosts-1)
		}
	}
	p := &Plan{Nodes: e.Hosts}
	for _, dst := range order {
		if dst != sender && len(p.Flows) < degree {
			p.at(sender, dst, uint64(v.Bytes("size", e.BDP)), 0)
		}
	}
	p.stagger(v.Time("startJitter"), e.Jitter)
	return p, nil
}
