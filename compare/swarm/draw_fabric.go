package swarm

import (
	"fmt"

	"github.com/weft-transport/weft/emulator"
)

// fabric draws topology, measures, buffers and losses.
func (d dice) fabric(l *layout, control string, uet bool) *mapping {
	m := &mapping{}
	d.topology(l, m)
	rate := pick(d, 10, 25, 100, 100, 200, 400)
	m.set("rate", fmt.Sprintf("%dGbps", rate))
	if d.chance(0.2) {
		m.set("tierRates", fmt.Sprintf("[%dGbps, %dGbps, %dGbps]", rate, pick(d, rate, 2*rate, rate/2+1), pick(d, rate, 4*rate)))
	}
	m.set("linkDelay", fmt.Sprintf("%dns", pick(d, 50, 200, 500, 1000, 2000)))
	if d.chance(0.2) {
		m.set("tierDelays", fmt.Sprintf("[%dns, %dns]", d.between(10, 500), d.between(10, 3000)))
	}
	m.set("switchDelay", fmt.Sprintf("%dns", pick(d, 0, 100, 500)))
	mtu := pick(d, 512, 1000, 1024, 2048, 4096, 4096, 8192)
	m.set("payloadMTU", mtu)
	switch d.IntN(4) {
	case 0:
		m.set("linkOverhead", fmt.Sprintf("%dB", d.between(0, 100)))
	case 1:
		m.set("wireBytes", mtu+64+d.IntN(60))
	}
	d.buffer(m, mtu, control)
	d.reroute(m)
	if d.chance(0.15) {
		m.set("routing", d.routing())
	}
	if l.losses {
		m.set("loss", d.loss(l, uet))
	}
	if d.chance(0.2) {
		m.set("samplePeriod", fmt.Sprintf("%dns", d.between(500, 20_000)))
	}
	return m
}

func (d dice) topology(l *layout, m *mapping) {
	switch d.IntN(8) {
	case 0:
		l.hosts = d.between(2, 16)
		m.set("topology", "single")
	case 1:
		l.hosts, l.leaves = 2*d.between(1, 6), 2
		m.set("topology", "dumbbell")
		m.set("bottleneck", pick(d, "0", "0", "10Gbps", "40Gbps"))
		l.links = []string{"switch0-switch1"}
	case 2, 3:
		d.leafSpine(l, m)
	case 4:
		half := d.between(2, 4)
		l.leaves = d.between(2, 2*half)
		l.hosts = l.leaves * half
		m.set("topology", "fattree")
		m.set("tiers", 2)
		m.set("radix", 2*half)
		if half%2 == 0 && d.chance(0.3) {
			m.set("oversubscription", 2)
		}
		l.links = []string{"leaf0-spine0", "leaf1-spine*", "leaf*-spine0"}
	case 5:
		l.hosts = 2 * d.between(2, 8)
		l.leaves = l.hosts / 2
		m.set("topology", "fattree")
		m.set("tiers", 3)
		m.set("radix", 4)
		if d.chance(0.3) {
			m.set("oversubscription", 2)
		}
		l.links = []string{"tor0-agg0", "tor1-agg*", "agg0-core0", "agg*-core0"}
	case 6, 7:
		d.ports(l, m)
	}
	m.set("hosts", l.hosts)
}

func (d dice) leafSpine(l *layout, m *mapping) {
	l.leaves = d.between(2, 5)
	perLeaf := d.between(1, 6)
	l.hosts = l.leaves * perLeaf
	m.set("topology", "leafspine")
	m.set("leaves", l.leaves)
	if d.chance(0.5) {
		m.set("spines", d.between(1, 6))
	} else if perLeaf%2 == 0 && d.chance(0.5) {
		m.set("oversubscription", 2)
	}
	if d.chance(0.2) {
		m.set("bundle", 2)
	}
	l.links = []string{"leaf0-spine0", "leaf1-spine*", "leaf*-spine0"}
}

// ports draws hosts with several ports: planes beside each other, or rails under common spines.
func (d dice) ports(l *layout, m *mapping) {
	kind := pick(d, "planes", "rails")
	l.leaves = d.between(1, 4)
	perLeaf := d.between(pickBool(d, l.leaves == 1, 2, 1), 4)
	l.hosts = l.leaves * perLeaf
	m.set("topology", kind)
	m.set(kind, pick(d, 2, 2, 4, 5))
	m.set(pickBool(d, kind == "rails", "pods", "leaves"), l.leaves)
	m.set("choice", pick(d, "entropy", "entropy", "pair"))
	if l.leaves > 1 && d.chance(0.5) {
		m.set("spines", d.between(1, 4))
	}
	if kind == "planes" {
		l.links = []string{"p1leaf0-p1spine0", "p1*", "nic1-p0*", "nic*-p1leaf0"}
		return
	}
	m.set("arrive", pick(d, "same", "same", "any"))
	l.links = []string{"nic1-r0*", "nic*-r1leaf0", "*-r1leaf0"}
	if l.leaves > 1 {
		l.links = append(l.links, "r1leaf0-spine0", "*-spine0")
	}
}

// buffer draws the memory of switches: small ones where packets may be dropped, though never so small that a
// few packets fill them and nobody gets anywhere, and small ones as well where nothing may be dropped, if
// headroom and promises fit into them.
func (d dice) buffer(m *mapping, mtu int, control string) {
	if d.chance(0.5) {
		return
	}
	b := &mapping{}
	if control == "none" {
		b.set("perSwitch", mtu*int(d.logarithmic(60, 1000)))
		b.set("alpha", pick(d, "0.5", "1", "4", "16"))
	} else {
		b.set("perSwitch", int(d.logarithmic(300e3, 20e6)))
		b.set("alpha", pick(d, "0.0625", "0.125", "0.25", "1", "4"))
	}
	m.set("buffer", b)
}

// reroute draws when switches learn of dead links.
func (d dice) reroute(m *mapping) {
	switch d.IntN(4) {
	case 0:
		m.set("reroute", "{local: never, global: never}")
	case 1:
		m.set("reroute", fmt.Sprintf("{local: %dus, global: never}", d.between(1, 60)))
	case 2:
		local := d.between(1, 60)
		m.set("reroute", fmt.Sprintf("{local: %dus, global: %dus}", local, local+d.between(0, 300)))
	}
}

// loss draws what links lose. Every n-th packet is lost only where n is more than any window of
// go-back-N, or where nobody goes back.
func (d dice) loss(l *layout, uet bool) *mapping {
	m := &mapping{}
	d.lossKinds(m, uet)
	if d.chance(0.4) {
		own := &mapping{}
		own.set("link", pick(d, append(l.links, "h0-*", "h*")...))
		own.set("oneway", d.chance(0.5))
		d.lossKinds(own, uet)
		m.set("links", "["+own.String()+"]")
	}
	return m
}

func (d dice) lossKinds(m *mapping, uet bool) {
	if d.chance(0.6) {
		m.set("random", fmt.Sprintf("%.6f", d.logarithmic(1e-4, 0.05)))
	}
	if d.chance(0.3) {
		m.set("corrupt", fmt.Sprintf("%.6f", d.logarithmic(1e-4, 0.02)))
	}
	if d.chance(0.2) {
		m.set("every", d.between(30, 300)*pickBool(d, uet, 1, 100))
	}
	if d.chance(0.3) {
		m.set("burst", fmt.Sprintf("{meanGood: %dus, meanBad: %dns, lossBad: %.2f}", d.between(20, 400), d.between(200, 8000), 0.2+0.8*d.Float64()))
	}
}

// pickBool chooses by a condition, and draws nothing.
func pickBool[T any](_ dice, condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// faultList draws what goes wrong on a schedule. Cuts end, so that everything can end well.
func (d dice) faultList(l *layout) []string {
	if !l.faults {
		return nil
	}
	var list []string
	for range d.between(1, 3) {
		list = append(list, d.fault(l).String())
	}
	return list
}

func (d dice) fault(l *layout) *mapping {
	m := &mapping{}
	kind := pick(d, "down", "down", "flap", "slow", "loss", "slowhost")
	m.set("kind", kind)
	m.set("at", fmt.Sprintf("%dns", d.IntN(60_000)))
	lasts := d.between(1, 400)
	if kind == "slow" || kind == "slowhost" {
		lasts *= pick(d, 1, 1000)
	}
	m.set("for", fmt.Sprintf("%dus", lasts))
	if kind == "slowhost" {
		m.set("host", d.IntN(l.hosts))
		m.set("factor", fmt.Sprintf("%.3f", 0.1+0.8*d.Float64()))
		return m
	}
	m.set("link", pick(d, append(l.links, fmt.Sprintf("h%d-*", d.IntN(l.hosts)))...))
	m.set("oneway", d.chance(0.3))
	switch kind {
	case "flap":
		m.set("period", fmt.Sprintf("%dns", d.between(500, 50_000)))
	case "slow":
		m.set("factor", fmt.Sprintf("%.3f", 0.1+0.8*d.Float64()))
	case "loss":
		m.set("loss", fmt.Sprintf("%.3f", d.logarithmic(0.01, 0.7)))
	}
	return m
}

// workload draws who sends what, no more than twelve megabytes in all.
func (d dice) workload(l *layout) *mapping {
	m := &mapping{}
	kind := pick(d, "permutation", "permutation", "incast", "incast", "incast", "tornado", "alltoall", "ringallreduce", "pair", "outcast", "poisson")
	m.set("kind", kind)
	flows, messages := l.hosts, 1
	switch kind {
	case "permutation", "tornado":
		messages = d.between(1, 4)
		m.set("messages", messages)
	case "incast":
		flows = d.between((l.hosts+1)/2, l.hosts-1)
		messages = d.between(1, 3)
		m.set("degree", flows)
		m.set("messages", messages)
		if l.leaves > 1 && flows < l.hosts-2 && d.chance(0.4) {
			m.set("victim", true)
			m.set("victimSize", d.size(200e3))
			m.set("victimMessages", d.between(1, 3))
		}
	case "alltoall":
		flows *= l.hosts - 1
		m.set("parallel", d.between(0, 4))
	case "ringallreduce":
		m.set("placement", pick(d, "local", "random"))
	case "pair":
		flows, messages = 1, d.between(1, 20)
		m.set("messages", messages)
	case "outcast":
		flows = d.between(1, l.hosts-1)
		m.set("degree", flows)
	case "poisson":
		d.poisson(m)
		return m
	}
	m.set("size", d.size(min(3e6, 12e6/float64(flows*messages))))
	if kind != "pair" && d.chance(0.4) {
		m.set("startJitter", fmt.Sprintf("%dns", d.between(1, 30_000)))
	}
	return m
}

// poisson draws arrivals of short flows.
func (d dice) poisson(m *mapping) {
	m.set("cdf", pick(d, "googlerpc", "solar", "alistorage", "hadoop"))
	m.set("load", fmt.Sprintf("%.2f", 0.05+0.5*d.Float64()))
	m.set("warmup", "5us")
	m.set("duration", fmt.Sprintf("%dus", d.between(20, 100)))
	m.set("cooldown", "5us")
	m.set("maxFlows", d.between(5, 60))
}

// size draws the bytes of a message: often an edge, such as none or a packet and a byte.
func (d dice) size(most float64) string {
	if d.chance(0.2) {
		return pick(d, "0", "1", "512", "1000", "1024", "4095", "4096", "4097", "8193")
	}
	if d.chance(0.3) {
		return fmt.Sprint(int(d.logarithmic(100, max(200, most))))
	}
	return fmt.Sprint(int(d.logarithmic(max(200, most/16), max(400, most))))
}

// routing draws a way of routing.
func (d dice) routing() string {
	loads := pick(d, "", "", ":metric=port", ":metric=path", ":levels=8", ":levels=4:full=50KB:refresh=1us")
	switch word := pick(d, emulator.Routers.Names()...); word {
	case "adaptive":
		return word + loads
	case "flowlet":
		return fmt.Sprintf("flowlet:gap=%dns:table=%d:pick=%s", d.between(50, 20_000), d.between(1, 100), pick(d, "random", "least")) + loads
	case "drill":
		return fmt.Sprintf("drill:samples=%d:memory=%d", d.between(1, 3), d.between(0, 2)) + loads
	default:
		return word
	}
}
