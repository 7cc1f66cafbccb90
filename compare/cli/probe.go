package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/weft-transport/weft/compare/probe"
)

type probeCmd struct {
	Address string        `arg:"" help:"IPv4 address of the endpoint."`
	From    string        `help:"Address of this host to ask from. By default that of the route." placeholder:"ADDRESS"`
	Native  bool          `help:"Over IP protocol 253 (Linux, root) instead of UDP port 4793."`
	Wait    time.Duration `help:"How long an answer that is due may take." default:"2s"`
}

// Help is the long help of the command.
func (probeCmd) Help() string {
	return `Sends a UET endpoint one packet after another, of which many are strange, and prints one line for each: its number, a verdict, what was sent, what
the reference provider of the consortium answers, and what was answered, if it is something else. The verdict is "ok" if the answer is that of
the provider, "differs" if it is that of weft, with the reason, and else "unexpected".

The endpoint should have job 1, PIDonFEP 0, resource index 15, payload MTU 1024, fifty receives of 2600 bytes, and under the key 0x11 memory of 4096 bytes that
counts up, which may be read and written. It must not have heard of this host before.`
}

func (c *probeCmd) Run(a *app) error {
	to, err := netip.ParseAddr(c.Address)
	if err != nil || !to.Is4() {
		return errUsage{fmt.Errorf("probe %q: expected an IPv4 address", c.Address)}
	}
	if c.Wait <= 0 {
		return errUsage{fmt.Errorf("--wait %v: expected more than 0", c.Wait)}
	}
	from, err := c.from(to)
	if err != nil {
		return errUsage{err}
	}
	l, err := probe.NewLine(from, to, c.Native, c.Wait)
	if err != nil {
		return err
	}
	defer l.Close()
	defer context.AfterFunc(a.ctx, func() { l.Close() })()
	results, err := probe.Target(l)
	counts := map[string]int{}
	for i := range results {
		counts[results[i].Verdict()]++
		fmt.Fprintln(a.stdout, results[i].String())
	}
	if a.ctx.Err() != nil {
		return fmt.Errorf("interrupted after %d probes", len(results))
	}
	if err != nil {
		return fmt.Errorf("%v: %w", to, err)
	}
	fmt.Fprintf(a.stdout, "%d probes: %d ok, %d differ as weft does, %d unexpected\n", len(results), counts["ok"], counts["differs"], counts["unexpected"])
	if counts["unexpected"] > 0 {
		return fmt.Errorf("%v answers %d of %d probes in an unexpected way", to, counts["unexpected"], len(results))
	}
	return nil
}

// from is the address that packets to an endpoint leave from.
func (c *probeCmd) from(to netip.Addr) (netip.Addr, error) {
	if c.From != "" {
		a, err := netip.ParseAddr(c.From)
		if err != nil || !a.Is4() {
			return a, fmt.Errorf("--from %q: expected an IPv4 address", c.From)
		}
		return a, nil
	}
	route, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 9)))
	if err != nil {
		return to, fmt.Errorf("probe %v: %w", to, err)
	}
	defer route.Close()
	return route.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}
