package workload

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

// groupParams are declared by collectives, which run in one or several groups of hosts.
var groupParams = []param.Param{
	{Name: "group", Kind: param.Int, Default: "0", Doc: "hosts (ranks) in one group; 0: all hosts", Max: 1 << 24},
	{Name: "groups", Kind: param.Int, Default: "0", Doc: "number of groups that run at the same time; 0: as many as fit", Max: 1 << 24},
	{Name: "placement", Kind: param.Word, Default: "local", OneOf: []string{"local", "random"}, Doc: "local: ranks are neighbours, in the order of hosts; random: drawn (seed: matrix)"},
}

// groups deals hosts to groups.
func groups(v param.Values, e Env) ([][]int32, error) {
	size, count := int(v.Int("group")), int(v.Int("groups"))
	if size == 0 {
		size = e.Hosts
	}
	if size < 2 {
		return nil, fmt.Errorf("group: %d hosts; expected at least 2", size)
	}
	if count == 0 {
		count = max(1, e.Hosts/size)
	}
	if size > e.Hosts || count > e.Hosts/size {
		return nil, fmt.Errorf("group: %d groups of %d hosts need %d hosts, the fabric has %d", count, size, count*size, e.Hosts)
	}
	hosts := streamOf(e.Matrix, 0).order(e.Hosts)
	if v.Word("placement") == "local" {
		for i := range hosts {
			hosts[i] = int32(i)
		}
	}
	list := make([][]int32, count)
	for g := range list {
		list[g] = hosts[g*size : (g+1)*size]
	}
	return list, nil
}
