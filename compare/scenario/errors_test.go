package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is what the wrong inputs are made from: each replaces a part of it.
const small = `name: small
fabric: {topology: leafspine, hosts: 16, leaves: 4, rate: 400Gbps}
workload: {kind: permutation, size: 1MiB}
protocols: probe
seeds: 1..3
`

// Each line: what is replaced, by what, and the one line that says what is wrong.
var wrong = []struct{ from, to, want string }{
	// The file
	{small, "", `x.yaml: the file is empty; expected a scenario`},
	{small, "hello", `x.yaml:1:1: is "hello"; expected a mapping of fields such as name, fabric, workload`},
	{small, "name: a\n  fabric: b", `x.yaml:1:7: mapping value is not allowed in this context`},
	{"name: small", "name: &a small", `x.yaml:1:7: anchors, aliases and tags are not supported; expected plain mappings, lists and values`},
	{"name: small", "name: small\nname: large", `x.yaml:2:1: mapping key "name" already defined at [1:1]`},
	{"seeds: 1..3", "seeds: 1..3\n<<: {a: b}", `x.yaml:6:1: merge keys are not supported; expected every field by itself (base: NAME takes those of another scenario)`},

	// The top
	{"name: small\n", "", `x.yaml:1:1: name: is missing; expected a name for tables and files`},
	{"name: small", "name: a b", `x.yaml:1:7: name: "a b" is not a name; expected letters, digits, - and _`},
	{"name: small", "name: [a]", `x.yaml:1:1: name: is a list; expected a text`},
	{"seeds:", "sede:", `x.yaml:5:1: unknown field "sede" (did you mean seeds?); expected one of name, title, description, fabric, faults, classes, workload, protocols, seeds, seedMatrix, seedHash, seedLoss, seedJitter, seedProtocol, horizon, published`},
	{"seeds: 1..3", "seeds: few", `x.yaml:5:8: seeds: "few" is not a list of seeds; expected something like 1..5, 1,2,7 or auto`},
	{"seeds: 1..3", "seeds: 3..1", `x.yaml:5:8: seeds: "3..1" is not a list of seeds; expected something like 1..5, 1,2,7 or auto`},
	{"seeds: 1..3", "seeds: 1,2,1", `x.yaml:5:8: seeds: seed 1 is given twice`},
	{"seeds: 1..3", "seeds: 1..1000000", `x.yaml:5:8: seeds: "1..1000000" is more than 100000 seeds`},
	{"seeds: 1..3", "seeds: []", `x.yaml:5:1: seeds: is an empty list; expected something like 1..5`},
	{"seeds: 1..3", "seeds: [1, -2]", `x.yaml:5:12: seeds.1: "-2" is not a list of seeds; expected something like 1..5, 1,2,7 or auto`},
	{"seeds: 1..3", "seedLoss: 1..3", `x.yaml:5:11: seedLoss: "1..3" is not a seed; expected a whole number of 0 or more`},
	{"seeds: 1..3", "horizon: 0", `x.yaml:5:10: horizon: expected a time above 0 and below 106 days, such as 100ms`},
	{"seeds: 1..3", "horizon: never", `x.yaml:5:10: horizon: expected a time above 0 and below 106 days, such as 100ms`},

	// The fabric
	{"leafspine", "leafspin", `x.yaml:2:20: fabric.topology: unknown topology "leafspin"; expected one of dumbbell, fattree, htsim, leafspine, ns3, planes, rails, single (did you mean leafspine?)`},
	{"400Gbps", "400Gbit", `x.yaml:2:59: fabric.rate: "400Gbit" is not a rate; expected a number with bps, kbps, Mbps, Gbps or Tbps, such as 400Gbps`},
	{"400Gbps", "0", `x.yaml:2:59: fabric.rate: "0" is no rate to send at; expected more than 0, such as 400Gbps`},
	{"400Gbps", "-1Gbps", `x.yaml:2:59: fabric.rate: "-1Gbps" is not a rate; expected a number with bps, kbps, Mbps, Gbps or Tbps, such as 400Gbps`},
	{"seeds:", "published: {source: x}\nseeds:", `x.yaml:5:1: published.rows: is missing; expected a list of figures`},
	{"seeds:", "published: {source: x, rows: [{metric: speed, of: probe, value: 1}]}\nseeds:", `x.yaml:5:40: published.rows.0.metric: "speed" is not one of mean, p99, last, victim, slowdown, slowdown.ns3, slowdown.ns3.p99, goodput, goodput.min, dropped, queue, paused`},
	{"seeds:", "published: {source: x, rows: [{metric: last, of: probe}]}\nseeds:", `x.yaml:5:32: published.rows.0.value: is missing; expected theirs, or bounds: least, most`},
	{"rate: 400Gbps", "linkdelay: 1us", `x.yaml:2:53: fabric: unknown field "linkdelay" (did you mean linkDelay?); expected one of topology, hosts, rate, linkDelay, switchDelay, oversubscription, tierRates, tierDelays, payloadMTU, linkOverhead, wireBytes, buffer, reroute, routing, classes, loss, samplePeriod, leaves, spines, bundle`},
	{"rate: 400Gbps", "linkDelay: 5 parsecs", `x.yaml:2:64: fabric.linkDelay: "5 parsecs" is not a time; expected a number with ps, ns, us, ms or s, such as 500ns`},
	{"rate: 400Gbps", "linkDelay: -1us", `x.yaml:2:64: fabric.linkDelay: "-1us" is negative; expected a time of 0 or more`},
	{"rate: 400Gbps", "linkDelay: 2s", `x.yaml:2:1: fabric: a delay of 2s is longer than a second`},
	{"rate: 400Gbps", "tiers: 3", `x.yaml:2:53: fabric: unknown field "tiers"; expected one of topology, hosts, rate, linkDelay, switchDelay, oversubscription, tierRates, tierDelays, payloadMTU, linkOverhead, wireBytes, buffer, reroute, routing, classes, loss, samplePeriod, leaves, spines, bundle`},
	{"rate: 400Gbps", "netem: {loss: 1%}", `x.yaml:2:53: fabric: unknown field "netem"; expected one of topology, hosts, rate, linkDelay, switchDelay, oversubscription, tierRates, tierDelays, payloadMTU, linkOverhead, wireBytes, buffer, reroute, routing, classes, loss, samplePeriod, leaves, spines, bundle`},
	{"hosts: 16", "hosts: many", `x.yaml:2:38: fabric.hosts: "many" is not a whole number`},
	{"leaves: 4", "samplePeriod: 1ns", `x.yaml:2:56: fabric.samplePeriod: 1ns is too short; expected 100ns or more, or 0 (as the fabric's round trip says)`},
	{"hosts: 16", "hosts: 0", `x.yaml:2:38: fabric.hosts: 0 is outside 1 to 1048576`},
	{"hosts: 16", "hosts: 18", `x.yaml:2:1: fabric: leafspine: 18 hosts do not divide into 4 leaves`},
	{"leaves: 4", "leaves: four", `x.yaml:2:50: fabric.leaves: "four" is not a whole number`},
	{"leaves: 4", "leaves: 4, oversubscription: 3", `x.yaml:2:1: fabric: leafspine: oversubscription 3 does not divide the 4 ports down of a leaf into a whole number of uplinks`},
	{"leaves: 4", "payloadMTU: 10", `x.yaml:2:54: fabric.payloadMTU: 10 is outside 64 to 65000`},
	{"leaves: 4", "wireBytes: 1000", `x.yaml:2:53: fabric.wireBytes: a packet of 1000 bytes cannot carry the 4096 bytes of payloadMTU`},
	{"leaves: 4", "linkOverhead: 1bdp", `x.yaml:2:56: fabric.linkOverhead: "1bdp" depends on the fabric; expected bytes, such as 2MiB`},
	{"leaves: 4", "linkOverhead: 2KB", `x.yaml:2:56: fabric.linkOverhead: 2000 bytes around a packet; expected at most 1024`},
	{"leaves: 4", "buffer: 16MB", `x.yaml:2:50: fabric.buffer: is "16MB"; expected a mapping of fields`},
	{"leaves: 4", "buffer: {alpha: 0}", `x.yaml:2:58: fabric.buffer.alpha: 0 is outside 0.0009765625 to 1024`},
	{"leaves: 4", "buffer: {size: 1MB}", `x.yaml:2:51: fabric.buffer: unknown field "size"; expected one of perSwitch, alpha`},
	{"leaves: 4", "reroute: {local: 1ms, global: 1us}", `x.yaml:2:72: fabric.reroute.global: 1us is before local, 1ms: the switches next to a dead link learn of it first`},
	{"leaves: 4", "tierRates: 400Gbps", `x.yaml:2:53: fabric.tierRates: is "400Gbps"; expected a list of rates, host links first`},
	{"leaves: 4", "tierRates: [400Gbps, fast]", `x.yaml:2:63: fabric.tierRates.1: "fast" is not a rate; expected a number with bps, kbps, Mbps, Gbps or Tbps, such as 400Gbps`},
	{"leaves: 4", "classes: {name: a}", `x.yaml:2:42: fabric.classes: is a mapping; expected a list of mappings {name: NAME, dscp: EF, ...}`},
	{"leaves: 4", "classes: [{dscp: 1}]", `x.yaml:2:53: fabric.classes.0.name: is missing; expected a name of the class`},
	{"leaves: 4", "classes: [{name: a, dscp: 64}]", `x.yaml:2:68: fabric.classes.0.dscp: "64" is no code point; expected 0 to 63, EF, CS0 to CS7, or AF11 to AF43`},
	{"leaves: 4", "classes: [{name: a, dscp: [CS1, AF51]}]", `x.yaml:2:74: fabric.classes.0.dscp: "AF51" is no code point; expected 0 to 63, EF, CS0 to CS7, or AF11 to AF43`},
	{"leaves: 4", "classes: [{name: a, dscp: 8}, {name: b, dscp: [9, CS1]}]", `x.yaml:2:42: fabric.classes: DSCP 8 is of both a and b; expected one class for each`},
	{"leaves: 4", "classes: [{name: a}, {name: b}, {name: c, dscp: 1}]", `x.yaml:2:42: fabric.classes: a and b name no dscp; expected one class at most, which has what the others leave`},
	{"leaves: 4", "classes: [{name: a}, {name: a, dscp: 1}]", `x.yaml:2:42: fabric.classes: two classes are called a`},
	{"leaves: 4", "classes: [{name: a, flowControl: pfc, queue: 1KiB}]", `x.yaml:2:53: fabric.classes.0: class.queue: 1KiB is a length at which packets are dropped, and class.flowControl: pfc promises that none is; expected 0 (the shared buffer)`},
	{"leaves: 4", "classes: [{name: a, weight: 0}]", `x.yaml:2:70: fabric.classes.0.weight: 0 is outside 1 to 1000`},
	{"leaves: 4", "loss: {random: 2}", `x.yaml:2:57: fabric.loss.random: "2" is not a fraction; expected 0 to 1 such as 1%, 0.01 or 1/100`},
	{"leaves: 4", "loss: {every: 1.5}", `x.yaml:2:56: fabric.loss.every: "1.5" is not a whole number`},
	{"leaves: 4", "loss: {burst: {p: 1%}}", `x.yaml:2:49: fabric.loss.burst: expected either meanGood and meanBad (times) or p and r (chances per packet), all above 0`},
	{"leaves: 4", "loss: {links: [{random: 1%}]}", `x.yaml:2:58: fabric.loss.links.0.link: is missing; expected the name of a link or a pattern`},
	{"leaves: 4", "loss: {links: [{link: leaf9-spine0}]}", `x.yaml:2:64: fabric.loss.links.0.link: no link is called "leaf9-spine0"; links are called h0-leaf0, leaf0-spine0, ...`},
	{"leaves: 4", `loss: {links: [{link: "leaf[0"}]}`, `x.yaml:2:64: fabric.loss.links.0.link: "leaf[0" is not a pattern of link names (syntax error in pattern)`},
	{"topology: leafspine, hosts: 16, leaves: 4", "topology: htsim", `x.yaml:2:1: fabric: htsim: file is missing; expected the name of a topology file`},
	{"topology: leafspine, hosts: 16, leaves: 4", "topology: htsim, file: none.topo", `x.yaml:2:33: fabric.file: cannot read none.topo: no such file or directory`},

	// Faults
	{"seeds: 1..3", "faults: {at: 0}", `x.yaml:5:1: faults: is a mapping; expected a list of mappings {at: TIME, link: NAME, kind: down}`},
	{"seeds: 1..3", "faults: [down]", `x.yaml:5:10: faults.0: is "down"; expected a mapping of fields`},
	{"seeds: 1..3", "faults: [{at: 1us, link: leaf0-spine0}]", `x.yaml:5:11: faults.0.kind: is missing; expected one of down, flap, slow, loss, slowhost`},
	{"seeds: 1..3", "faults: [{at: 1us, link: leaf0-spine0, kind: broken}]", `x.yaml:5:46: faults.0.kind: "broken" is not one of down, flap, slow, loss, slowhost`},
	{"seeds: 1..3", "faults: [{at: 1us, link: leaf7-spine0, kind: down}]", `x.yaml:5:26: faults.0.link: no link is called "leaf7-spine0"; links are called h0-leaf0, leaf0-spine0, ...`},
	{"seeds: 1..3", "faults: [{at: 1us, kind: down}]", `x.yaml:5:11: faults.0.link: is missing; expected the name of a link or a pattern, such as h0-leaf0, leaf0-spine0, ...`},
	{"seeds: 1..3", "faults: [{at: 1us, link: leaf0-spine0, kind: down, factor: 0.5}]", `x.yaml:5:52: faults.0: unknown field "factor"; expected one of at, for, kind, link, oneway`},
	{"seeds: 1..3", "faults: [{at: 1us, for: 0, link: leaf0-spine0, kind: down}]", `x.yaml:5:25: faults.0.for: is 0: the fault would not happen; leave it out for a fault without end`},
	{"seeds: 1..3", "faults: [{at: never, link: leaf0-spine0, kind: down}]", `x.yaml:5:15: faults.0.at: never is no time for a fault; expected a time such as 100us`},
	{"seeds: 1..3", "faults: [{link: leaf0-spine0, kind: flap}]", `x.yaml:5:11: faults.0.period: a flap needs a period of 1us or more, such as 20us`},
	{"seeds: 1..3", "faults: [{link: leaf0-spine0, kind: flap, period: 1ns}]", `x.yaml:5:51: faults.0.period: a flap needs a period of 1us or more, such as 20us`},
	{"seeds: 1..3", "faults: [{link: leaf0-spine0, kind: slow, factor: 2}]", `x.yaml:5:51: faults.0.factor: 2 is outside 1e-06 to 1`},
	{"seeds: 1..3", "faults: [{link: leaf0-spine0, kind: loss}]", `x.yaml:5:11: faults.0.loss: a loss fault needs a probability above 0, such as 1%`},
	{"seeds: 1..3", "faults: [{kind: slowhost}]", `x.yaml:5:11: faults.0.host: is missing; expected a host from 0 to 15`},
	{"seeds: 1..3", "faults: [{kind: slowhost, host: 16}]", `x.yaml:5:33: faults.0.host: 16 is outside 0 to 15`},

	{"seeds: 1..3", "faults: [{at: 3s, link: leaf0-spine0, kind: down}]", `x.yaml:5:11: faults.0.at: 3s is not before the horizon of 1s`},
	{"leaves: 4", "routing: best", `x.yaml:2:51: fabric.routing: "best" is not a way of routing; expected one of adaptive, drill, ecmp, flowlet, random, roundrobin`},
	{"leaves: 4", "routing: drill:two", `x.yaml:2:51: fabric.routing: "two" in way of routing "drill:two" is no parameter; expected name=value, as in drill:samples=2:memory=1`},
	{"protocols: probe", "protocols: probe,class.routing=drill:memory=9", `x.yaml:4:12: protocols.0: protocol probe: class.routing: way of routing drill: memory: 9 is outside 0 to 8`},

	// The workload
	{"kind: permutation", "kind: permutations", `x.yaml:3:18: workload.kind: unknown workload "permutations"; expected one of alltoall, htsim, incast, ns3, outcast, pair, permutation, poisson, ringallreduce, tornado (did you mean permutation?)`},
	{"size: 1MiB", "sizes: 1MiB", `x.yaml:3:31: workload: unknown field "sizes" (did you mean size?); expected one of kind, size, flows, messages, startJitter`},
	{"size: 1MiB", "size: -1", `x.yaml:3:37: workload.size: "-1" is not a size; expected a number of 0 or more with B, KB, KiB, MB, MiB, GB, GiB or bdp, such as 2MiB`},
	{"size: 1MiB", "size: 1.5", `x.yaml:3:37: workload.size: "1.5" is not a size: bytes come whole; expected 1, 2 ... or a larger unit, such as 1.5KiB`},
	{"size: 1MiB", "size: [1, 2]", `x.yaml:3:31: workload.size: is a list; expected a value`},
	{"size: 1MiB", "flows: 17", `x.yaml:3:1: workload permutation: flows: 17 is more than the 16 hosts of the fabric`},
	{"size: 1MiB", "startJitter: 2s", `x.yaml:3:44: workload.startJitter: 2s is outside 0ps to 1s`},
	{"kind: permutation, size: 1MiB", "kind: incast, degree: 16", `x.yaml:3:1: workload incast: degree: 16 senders and a receiver need 17 hosts, the fabric has 16`},
	{"kind: permutation, size: 1MiB", "kind: incast, degree: 0", `x.yaml:3:34: workload.degree: 0 is outside 1 to 16777216`},
	{"kind: permutation, size: 1MiB", "kind: incast, receiver: 16", `x.yaml:3:1: workload incast: receiver: host 16 is outside 0 to 15`},
	{"kind: permutation, size: 1MiB", "kind: incast, degree: 12, victim: true", `x.yaml:3:1: workload incast: victim: needs a free host under the leaf of a sender and one under another leaf; degree 12 on 16 hosts leaves none`},
	{"kind: permutation, size: 1MiB", "kind: poisson, load: 150%", `x.yaml:3:33: workload.load: "150%" is not a fraction; expected 0 to 1 such as 1%, 0.01 or 1/100`},
	{"kind: permutation, size: 1MiB", "kind: poisson, cdf: netflix", `x.yaml:3:1: workload: poisson: cdf: "netflix" is neither one of [alistorage googlerpc hadoop solar websearch] nor a file`},
	{"kind: permutation, size: 1MiB", "kind: poisson, cdf: sizes.txt", `x.yaml:3:32: workload.cdf: cannot read sizes.txt: no such file or directory`},
	{"kind: permutation, size: 1MiB", "kind: htsim", `x.yaml:3:1: workload: htsim: file is missing; expected the name of a connection matrix`},
	{"kind: permutation, size: 1MiB", "kind: pair, start: 2000ms", `x.yaml:3:1: workload pair: a flow starts at 2s, not before the horizon of 1s`},

	// Classes and protocols
	{"protocols: probe\n", "", `x.yaml:1:1: protocols: is missing; expected a list of SPECs such as uet,spray=reps`},
	{"protocols: probe", "protocols: []", `x.yaml:4:1: protocols: is missing; expected a list of SPECs such as uet,spray=reps`},
	{"protocols: probe", "protocols: [[probe]]", `x.yaml:4:13: protocols.0: is a list; expected a SPEC such as uet,spray=reps or {protocol: SPEC, label: TEXT, class: {...}}`},
	{"protocols: probe", "protocols: [{label: a}]", `x.yaml:4:14: protocols.0: is a mapping; expected a SPEC such as uet,spray=reps or {protocol: SPEC, label: TEXT, class: {...}}`},
	{"protocols: probe", "protocols: [\"probe,pauser\"]", `x.yaml:4:13: protocols.0: "probe,pauser" is 2 protocols; expected one`},
	{"protocols: probe", "protocols: probe,probe", `x.yaml:4:12: protocols.1: is the same as protocols.0, probe`},
	{"protocols: probe", "protocols: [{protocol: probe, label: a}, {protocol: pauser, label: a}]", `x.yaml:4:43: protocols.1: has the same label as protocols.0: "a"; give one of them a label of its own`},
	{"protocols: probe", "protocols: infiniband", `x.yaml:4:12: protocols.0: unknown protocol "infiniband"; expected one of PROTOCOLS`},
	{"protocols: probe", "protocols: spray=reps", `x.yaml:4:12: protocols: "spray=reps" starts with a parameter; expected a protocol name first, such as uet,spray=reps`},
	{"protocols: probe", "protocols: probe,mode=", `x.yaml:4:12: protocols: "mode=" is incomplete; expected key=value`},
	{"protocols: probe", "protocols: probe,,pauser", `x.yaml:4:12: protocols: "probe,,pauser" has an empty element; expected name,key=value,... such as uet,spray=reps`},
	{"protocols: probe", "protocols: probe,mode=fast,mode=slow", `x.yaml:4:12: protocols: mode is given twice for probe`},
	{"protocols: probe", "protocols: pro be", `x.yaml:4:12: protocols: "pro be" is not a protocol name; expected letters, digits, - and _`},
	{"protocols: probe", "protocols: probe,speed=1", `x.yaml:4:12: protocols.0: protocol probe: unknown parameter "speed"; expected one of window, mode, spray`},
	{"protocols: probe", "protocols: probe,mode=medium", `x.yaml:4:12: protocols.0: protocol probe: mode: "medium" is not one of fast, slow`},
	{"protocols: probe", "protocols: probe,spray.colour=red", `x.yaml:4:12: protocols.0: protocol probe: spray.colour: spray reps has no parameter "colour"; expected one of evs, first, run, variant, explore, start, freezing, freeze, failureRTT, lookback, lifetime, forget, probe`},
	{"protocols: probe", "protocols: pauser,qps=65", `x.yaml:4:12: protocols.0: protocol pauser: qps: 65 is outside 1 to 64`},
	{"protocols: probe", "protocols: probe,class.colour=red", `x.yaml:4:12: protocols.0: protocol probe: class: unknown parameter "colour"; expected one of queue, lastHopQueue, alpha, ecnMin, ecnMax, ecnP, ecnLastHop, trim, trimBytes, trimTail, trimShare, flowControl, xoff, xon, telemetry, headroom, routing`},
	{"protocols: probe", "protocols: probe,class.trim=false,class.queue=200KB,class.xoff=100KB,class.flowControl=pfc", `x.yaml:4:12: protocols.0: protocol probe: class.queue: 200KB is a length at which packets are dropped, and class.flowControl: pfc promises that none is; expected 0 (the shared buffer)`},
	{"protocols: probe", "protocols: probe,class.trim=false,class.queue=0,class.lastHopQueue=1bdp,class.flowControl=credit", `x.yaml:4:12: protocols.0: protocol probe: class.lastHopQueue: 1bdp is a length at which packets are dropped, and class.flowControl: credit promises that none is; expected 0 (the shared buffer)`},
	{"protocols: probe", "protocols: probe,class.alpha=0.0009", `x.yaml:4:12: protocols.0: protocol probe: class.alpha: 0.0009 is outside 1/1024 to 1024, in steps of 1/1024, and is not 0 (the fabric's)`},
	{"protocols: probe", "protocols: probe,class.flowControl=pfc", `x.yaml:4:12: protocols.0: protocol probe: class.trim: true contradicts class.flowControl: pfc, under which no queue overflows; expected one of the two`},
	{"protocols: probe", "protocols: pauser,class.queue=100KB,class.xoff=200KB", `x.yaml:4:12: protocols.0: protocol pauser: class.queue: 100KB is a length at which packets are dropped, and class.flowControl: pfc promises that none is; expected 0 (the shared buffer)`},
	{"protocols: probe", "protocols: pauser,class.xoff=100KB,class.xon=200KB", `x.yaml:4:12: protocols.0: protocol pauser: class.xon: 200KB is above class.xoff: 100KB; a link resumes below the length at which it pauses`},
	{"protocols: probe", "protocols: pauser,class.xon=200KB", `x.yaml:4:12: protocols.0: protocol pauser: class.xon: 200KB without class.xoff: expected both or neither`},
	{"protocols: probe", "protocols: probe,class.xoff=200KB", `x.yaml:4:12: protocols.0: protocol probe: class.xoff and class.xon are thresholds of pfc, but class.flowControl is none`},
	{"protocols: probe", "protocols: probe,class.ecnMin=0.9bdp", `x.yaml:4:12: protocols.0: protocol probe: class.ecnMin: 0.9bdp is above class.ecnMax: 0.8bdp`},
	{"protocols: probe", "protocols: probe,class.ecnMax=0", `x.yaml:4:12: protocols.0: protocol probe: class.ecnMin: 0.2bdp without class.ecnMax, so nothing would be marked; expected both or neither`},
	{"protocols: probe", "protocols: pauser,class.headroom=some", `x.yaml:4:12: protocols.0: protocol pauser: class.headroom: "some" is not a size; expected a number of 0 or more with B, KB, KiB, MB, MiB, GB, GiB or bdp, such as 2MiB, or auto`},
	{"protocols: probe", "protocols: probe\nclasses: {gopher: {queue: 1}}", `x.yaml:5:11: classes: there is no protocol "gopher" to set a class for; expected all or one of PROTOCOLS`},
	{"protocols: probe", "protocols: probe\nclasses: {probe: {queues: 1}}", `x.yaml:5:19: classes.probe: unknown field "queues" (did you mean queue?); expected one of queue, lastHopQueue, alpha, ecnMin, ecnMax, ecnP, ecnLastHop, trim, trimBytes, trimTail, trimShare, flowControl, xoff, xon, telemetry, headroom, routing`},
	{"protocols: probe", "protocols: probe\nclasses: {probe: {queue: big}}", `x.yaml:5:26: classes.probe.queue: "big" is not a size; expected a number of 0 or more with B, KB, KiB, MB, MiB, GB, GiB or bdp, such as 2MiB`},

	// Other scenarios
	{"name: small", "base: permutatio\nname: small", `x.yaml:1:7: base: there is no scenario "permutatio" above or built in (did you mean permutation?)`},
	{"seeds: 1..3", "seeds: 1..3\n---\nbase: small\nseeds: 4", `x.yaml:7:1: name: "small" is the name of two scenarios`},
}

// registered writes the names of the protocols of this test binary into a message.
func registered(text string) string {
	return strings.ReplaceAll(text, "PROTOCOLS", protocolNames())
}

func TestWrongInputGivesOneClearLine(t *testing.T) {
	require.Greater(t, len(wrong), 40)
	for _, w := range wrong {
		require.Contains(t, small, w.from)
		text := strings.Replace(small, w.from, w.to, 1)
		_, err := Read("x.yaml", []byte(text), Options{})
		require.Error(t, err, text)
		if w.want != err.Error() && registered(w.want) != err.Error() {
			t.Errorf("in %q:\nwant %s\ngot  %s", w.to, registered(w.want), err)
		}
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestWrongOverrides(t *testing.T) {
	for override, want := range map[string]string{
		"fabric.rate":                `--set fabric.rate: expected path.to.field=value, such as fabric.rate=100Gbps`,
		"=1":                         `--set =1: expected path.to.field=value, such as fabric.rate=100Gbps`,
		"fabric..rate=1":             `--set fabric..rate=1: expected path.to.field=value, such as fabric.rate=100Gbps`,
		"fabric.rate=fast":           `--set fabric.rate=fast: fabric.rate: "fast" is not a rate; expected a number with bps, kbps, Mbps, Gbps or Tbps, such as 400Gbps`,
		"fabric.speed=1":             `--set fabric.speed=1: fabric: unknown field "speed"; expected one of topology, hosts, rate, linkDelay, switchDelay, oversubscription, tierRates, tierDelays, payloadMTU, linkOverhead, wireBytes, buffer, reroute, routing, classes, loss, samplePeriod, leaves, spines, bundle`,
		"name.first=1":               `--set name.first=1: name is "small" and has no field first`,
		"faults={":                   `--set faults={: "{" is not readable as YAML`,
		"faults=[{kind: down}]":      `--set faults=[{kind: down}]: faults.0.link: is missing; expected the name of a link or a pattern, such as h0-leaf0, leaf0-spine0, ...`,
		"faults.0.kind=down":         `--set faults.0.kind=down: faults: is a mapping; expected a list of mappings {at: TIME, link: NAME, kind: down}`,
		"workload.size=huge":         `--set workload.size=huge: workload.size: "huge" is not a size; expected a number of 0 or more with B, KB, KiB, MB, MiB, GB, GiB or bdp, such as 2MiB`,
		"classes.probe.trim=maybe":   `--set classes.probe.trim=maybe: classes.probe.trim: "maybe" is neither true nor false`,
		"protocols.0=probe,mode=bad": `--set protocols.0=probe,mode=bad: protocols is "probe" and has no field 0`,
	} {
		_, err := Read("x.yaml", []byte(small), Options{Set: []string{override}})
		require.EqualError(t, err, want, override)
	}
	_, err := Read("x.yaml", []byte(full), Options{Set: []string{"protocols.3=probe"}})
	require.EqualError(t, err, `--set protocols.3=probe: protocols has the elements 0 to 1; expected one of these numbers (or 2 to append), not "3"`)
	_, err = Read("x.yaml", []byte(small), Options{Protocols: "probe,mode=bad"})
	require.EqualError(t, err, `--protocols probe,mode=bad: protocols.0: protocol probe: mode: "bad" is not one of fast, slow`)
	_, err = Read("x.yaml", []byte(small), Options{Seeds: "x"})
	require.EqualError(t, err, `--seeds x: seeds: "x" is not a list of seeds; expected something like 1..5, 1,2,7 or auto`)
}

func TestLoadSaysWhatThereIs(t *testing.T) {
	_, err := Load("permutatoin", Options{})
	require.EqualError(t, err, "permutatoin: there is no built-in scenario of this name (did you mean permutation?); expected one of "+strings.Join(Families(), ", ")+", or a YAML file")
	_, err = Load("none.yaml", Options{})
	require.EqualError(t, err, "none.yaml: cannot read none.yaml: no such file or directory")
	dir := t.TempDir()
	_, err = Load(dir, Options{})
	require.EqualError(t, err, dir+": cannot read "+dir+": is a directory")

	// Files that the scenario names: the error is that of the file.
	name := filepath.Join(dir, "s.yaml")
	matrix := filepath.Join(dir, "m.cm")
	require.NoError(t, os.WriteFile(matrix, []byte("Nodes 16\nConnections 1\n0->16 start 0 size 1\n"), 0o600))
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(small, "{kind: permutation, size: 1MiB}", "{kind: htsim, file: m.cm}", 1)), 0o600))
	_, err = Load(name, Options{})
	require.EqualError(t, err, name+":3:1: workload htsim: "+matrix+":3: host: 16 is outside 0 to 15")
	require.NoError(t, os.WriteFile(matrix, []byte("Nodes 16\nConnections 1\n0->15 start 5000000 size 1\n"), 0o600))
	_, err = Load(name, Options{})
	require.EqualError(t, err, name+":3:1: workload htsim: a flow starts at 5s, not before the horizon of 1s")
}

func TestCheckEvery(t *testing.T) {
	require.NoError(t, CheckEvery(0, 100))
	require.NoError(t, CheckEvery(101, 100))
	require.EqualError(t, CheckEvery(100, 100), "fabric.loss.every: 100: go-back-N with a window of 100 packets would lose the same packet in every round and never end; expected more than 100")
}

// Settings of which one is in bytes and the other in bdp are compared when the bdp is known.
func TestCheckClass(t *testing.T) {
	s := readOne(t, small, "protocols=pauser,class.xoff=1bdp,class.xon=200KB")
	require.NoError(t, s.Protocols[0].CheckClass(300_000))
	require.EqualError(t, s.Protocols[0].CheckClass(100_000), "class.xon: 200000 is above class.xoff: 100000; a link resumes below the length at which it pauses")
}
