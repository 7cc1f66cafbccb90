package workload

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Registry.Register(param.Entry[Generator]{
		Name:   "incast",
		Doc:    "many hosts send to one at the same time; optionally with a victim that shares only pausable links with them",
		Source: "partition/aggregate traffic (DCTCP, SIGCOMM 2010, section 2); victim flows as in DCQCN, SIGCOMM 2015, section 2.2",
		Params: []param.Param{
			{Name: "degree", Kind: param.Int, Default: "8", Doc: "number of senders", Min: 1, Max: 1 << 24},
			sizeParam("2MiB", "bytes that each sender sends"),
			{Name: "receiver", Kind: param.Int, Doc: "the host that receives; derived: drawn at random (seed: matrix)", Max: 1 << 30},
			{Name: "senders", Kind: param.Word, Default: "remote", OneOf: []string{"remote", "any"}, Doc: "remote: hosts under other leaves first, drawn at random; any: all hosts alike"},
			messagesParam,
			{Name: "victim", Kind: param.Bool, Default: "false", Doc: "adds one flow from under the leaf of a sender to under a leaf of neither sender nor receiver, if there is one: no bottleneck in common, only links that PFC may pause"},
			{Name: "victimSize", Kind: param.Bytes, Default: "2MiB", Doc: "bytes of each message of the victim; in bdp it scales, in bytes not", Max: 1 << 50},
			{Name: "victimMessages", Kind: param.Int, Default: "1", Doc: "messages of the victim, one after another", Min: 1, Max: 1 << 24},
			jitterParam,
		},
		New: newIncast,
	})
}

// Groups of an incast with a victim.
const (
	incastGroup = iota
	victimGroup
)

func newIncast(v param.Values) (Generator, error) {
	return func(e Env) (*Plan, error) {
		receiver, err := incastReceiver(v, e)
		if err != nil {
			return nil, err
		}
		list, err := incastSenders(v, e, receiver)
		if err != nil {
			return nil, err
		}
		if err := room(float64(float64(len(list))*float64(v.Int("messages"))) + float64(v.Int("victimMessages"))); err != nil {
			return nil, err
		}
		p := &Plan{Nodes: e.Hosts, Groups: []string{"incast"}}
		for _, src := range list {
			p.train(src, receiver, uint64(v.Bytes("size", e.BDP)), 0, int(v.Int("messages")))
		}
		if v.Bool("victim") {
			err = p.addVictim(v, e, receiver, list)
		}
		p.stagger(v.Time("startJitter"), e.Jitter)
		return p, err
	}, nil
}

func incastReceiver(v param.Values, e Env) (int32, error) {
	if !v.Has("receiver") {
		return int32(streamOf(e.Matrix, 0).below(uint64(max(1, e.Hosts)))), nil
	}
	r := v.Int("receiver")
	if r < 0 || r >= int64(e.Hosts) {
		return 0, fmt.Errorf("receiver: host %d is outside 0 to %d", r, e.Hosts-1)
	}
	return int32(r), nil
}

// incastSenders draws the senders: in random order, or those under other leaves than the
// receiver's ahead of those under its own.
func incastSenders(v param.Values, e Env, receiver int32) ([]int32, error) {
	degree := int(v.Int("degree"))
	if degree >= e.Hosts {
		return nil, fmt.Errorf("degree: %d senders and a receiver need %d hosts, the fabric has %d", degree, degree+1, e.Hosts)
	}
	var first, last []int32
	for _, h := range streamOf(e.Matrix, 1).order(e.Hosts) {
		switch {
		case h == receiver:
		case v.Word("senders") == "remote" && e.leaf(h) == e.leaf(receiver):
			last = append(last, h)
		default:
			first = append(first, h)
		}
	}
	return append(first, last...)[:degree], nil
}

// addVictim adds the flow that suffers from pauses only:
//
//	sender --+                       +-- receiver   (bottleneck: its link)
//	         leaf A ==> spines ==> leaf B
//	victim --+             \\
//	source                  ==> leaf C -- victim destination
//
// With two leaves its destination is under leaf B, still behind a link of its own.
func (p *Plan) addVictim(v param.Values, e Env, receiver int32, senders []int32) error {
	busy := make([]bool, e.Hosts)
	sending := map[int32]bool{} // leaves with senders, looked up only
	busy[receiver] = true
	for _, s := range senders {
		busy[s] = true
		sending[e.leaf(s)] = true
	}
	src, dst := int32(-1), int32(-1)
	rank := 0
	for _, h := range streamOf(e.Matrix, 2).order(e.Hosts) {
		leaf := e.leaf(h)
		if busy[h] {
			continue
		}
		if src < 0 && sending[leaf] && leaf != e.leaf(receiver) {
			src = h
		}
	}
	for _, h := range streamOf(e.Matrix, 3).order(e.Hosts) {
		if src < 0 || busy[h] || e.leaf(h) == e.leaf(src) {
			continue
		}
		if r := victimRank(e, h, receiver, sending); r > rank {
			dst, rank = h, r
		}
	}
	if src < 0 || dst < 0 {
		return fmt.Errorf("victim: needs a free host under the leaf of a sender and one under another leaf; degree %d on %d hosts leaves none", len(senders), e.Hosts)
	}
	from := len(p.Flows)
	p.train(src, dst, uint64(v.Bytes("victimSize", e.BDP)), 0, int(v.Int("victimMessages")))
	for i := from; i < len(p.Flows); i++ {
		p.Flows[i].Group = victimGroup
	}
	p.Groups = append(p.Groups, "victim")
	return nil
}

// victimRank prefers a destination whose leaf has neither receiver nor senders, then one
// without the receiver, then any.
func victimRank(e Env, host, receiver int32, sending map[int32]bool) int {
	switch leaf := e.leaf(host); {
	case leaf == e.leaf(receiver):
		return 1
	case sending[leaf]:
		return 2
	default:
		return 3
	}
}
