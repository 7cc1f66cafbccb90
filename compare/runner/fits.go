package runner

import (
	"fmt"
	"slices"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
)

// Fits tells whether the runs can begin under every protocol: a class may ask for more headroom than the
// buffers have, a host may not know packets of this size or rate, a message may be longer than a request can
// say; and whether a run fits into memory. The error is the one that Run would end with. It fills in Notes. programs:
// hosts may be programs with clocks of their own.
func (set *Setting) Fits(programs bool) error {
	seeds := set.Scenario.Fixed.Derive(set.Scenario.Seeds.List[0])
	plan, err := set.Scenario.Plan(seeds, set.BaseRTT, set.BDP)
	if err != nil {
		return err
	}
	set.Notes = plan.Notes
	set.weigh(plan)
	if err := set.checkMemory(set.Memory()); err != nil {
		return err
	}
	longest := longestFlow(plan)
	for i := range set.Scenario.Protocols {
		e := &set.Scenario.Protocols[i]
		if err := set.fits(e, longest, programs); err != nil {
			return fmt.Errorf("protocol %s: %w", e.Label, err)
		}
	}
	return nil
}

// fits tries one protocol: its fabric, one host, and the longest message.
func (set *Setting) fits(e *scenario.Entry, longest workload.Flow, programs bool) error {
	if _, err := set.fabric(e, scenario.SeedSet{}, false); err != nil {
		return err
	}
	if _, is := e.Protocol.(protocol.Program); is && programs {
		return nil
	}
	host, err := set.NewHost(e, core.Addr(longest.Src))
	if err != nil {
		return fmt.Errorf("a host: %w", err)
	}
	return host.Send(0, core.Message{To: core.Addr(longest.Dst), Length: longest.Bytes})
}

// longestFlow returns the flow of a plan that has most bytes.
func longestFlow(plan *workload.Plan) (longest workload.Flow) {
	for i := range plan.Flows {
		if f := &plan.Flows[i]; i == 0 || f.Bytes > longest.Bytes {
			longest = *f
		}
	}
	return longest
}

// checkQueues refuses queues that never take a full packet: everything would be dropped or trimmed, for ever.
func (set *Setting) checkQueues(e *scenario.Entry) error {
	full := set.WireMTU(e.Protocol)
	for _, name := range []string{"queue", "lastHopQueue"} {
		if bytes := e.Class.Bytes(name, set.BDP); bytes > 0 && bytes < full {
			return fmt.Errorf("class.%s: %s is %d bytes here, less than one full packet of %d bytes, so that none would pass; expected more, or 0", name, e.Class.Word(name), bytes, full)
		}
	}
	alpha, buffer := e.Class.Float("alpha"), set.smallestBuffer()
	if alpha == 0 {
		alpha = set.Scenario.Fabric.Buffer.Alpha
	}
	if alpha*float64(buffer) < float64(full) && e.Class.Word("flowControl") == "none" {
		return fmt.Errorf("fabric.buffer: of %d bytes a queue may hold %g times what is free, less than one full packet of %d bytes, so that none would pass; expected more in fabric.buffer.perSwitch, which scales with the rate of ports", buffer, alpha, full)
	}
	return nil
}

// smallestBuffer returns the packet memory of the switch that has least.
func (set *Setting) smallestBuffer() int64 {
	f := &set.Scenario.Fabric
	if f.Buffer.PerSwitch > 0 {
		return f.Buffer.PerSwitch
	}
	sizes := make([]int64, f.Network.Switches)
	for i := range f.Network.Links {
		l := &f.Network.Links[i]
		if s := int(l.From) - f.Network.Hosts; s >= 0 {
			sizes[s] += int64(float64(l.RateBps) * emulator.DefaultBuffer)
		}
	}
	return slices.Min(sizes)
}

// NewHost makes a host of a protocol that nothing is attached to: for its settings, and for tests.
func (set *Setting) NewHost(e *scenario.Entry, self core.Addr) (core.Host, error) {
	return e.Protocol.NewHost(self, set.Env(e, scenario.SeedSet{}, nil))
}
