package runner

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/compare/workload"
)

// What a run takes, in bytes, measured as peak resident memory with 1024 to 65,536 hosts of both protocols and
// rounded up; with the garbage collector's share, and what a report keeps of the run.
const (
	baseMemory   = 16 << 20
	hostMemory   = 6 << 10
	linkMemory   = 2 << 10 // each direction of a cable
	routeMemory  = 8       // each pair of a switch and a leaf
	flowMemory   = 3 << 9
	packetMemory = 224
)

// Memory returns an estimate of what one run needs, in bytes: links and hosts, and the packets that are under way
// when all windows are open and buffers fill.
func (set *Setting) Memory() int64 { return set.fabricMemory() + set.trafficMemory() }

// fabricMemory is the part of an idle fabric.
func (set *Setting) fabricMemory() int64 {
	n := set.Scenario.Fabric.Network
	ends := make([]bool, n.Switches) // switches that hosts hang on
	leaves := int64(0)
	for i := range n.Links {
		if l := &n.Links[i]; int(l.From) < n.Hosts && !ends[int(l.To)-n.Hosts] {
			ends[int(l.To)-n.Hosts] = true
			leaves++
		}
	}
	return baseMemory + hostMemory*int64(n.Hosts) + linkMemory*int64(len(n.Links)) + routeMemory*leaves*int64(n.Switches)
}

// trafficMemory is the part of the workload; before Fits has seen it, hosts are taken to fill their windows.
func (set *Setting) trafficMemory() int64 {
	window := 3*set.BDP/set.wireFull + 16
	packets := window * int64(set.Scenario.Fabric.Network.Hosts)
	if set.load.flows > 0 {
		packets = min(packets, set.load.packets)
	}
	return packetMemory*packets + flowMemory*set.load.flows
}

// weigh notes how much a plan sends.
func (set *Setting) weigh(plan *workload.Plan) {
	set.load.flows, set.load.packets = int64(len(plan.Flows)), 0
	mtu := uint64(set.Scenario.Fabric.PayloadMTU)
	for i := range plan.Flows {
		set.load.packets += int64(plan.Flows[i].Bytes/mtu) + 1
	}
}

// checkMemory refuses a run that needs more than there is, rather than let the system end it half way.
func (set *Setting) checkMemory(need int64) error {
	there := memoryThere()
	if need <= there {
		return nil
	}
	n := set.Scenario.Fabric.Network
	what := fmt.Sprintf("%d hosts, %d links", n.Hosts, len(n.Links))
	if set.load.flows > 0 {
		what += fmt.Sprintf(", %d flows of %d packets", set.load.flows, set.load.packets)
	}
	return fmt.Errorf("one run needs about %.2g GB of memory (%s), and %.2g GB are available; expected a smaller one", float64(need)/1e9, what, float64(there)/1e9)
}

// memoryThere is a variable for tests.
var memoryThere = availableMemory

// availableMemory returns what this process may still take, in bytes: what the system has available, or what is
// left to its control group, whichever is less.
func availableMemory() int64 {
	const unknown = 6 << 30
	there := int64(unknown)
	if kib, ok := numberAfter("/proc/meminfo", "MemAvailable:"); ok {
		there = kib * 1024
	}
	limit, limited := numberAfter("/sys/fs/cgroup/memory.max", "")
	used, ok := numberAfter("/sys/fs/cgroup/memory.current", "")
	if limited && ok {
		there = min(there, max(0, limit-used))
	}
	return there
}

// numberAfter returns the whole number behind a word at the beginning of a line of a file.
func numberAfter(file, word string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, word); found {
			if fields := strings.Fields(rest); len(fields) > 0 {
				n, err := strconv.ParseInt(fields[0], 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}
