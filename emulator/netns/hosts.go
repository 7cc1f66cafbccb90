package netns

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
)

// hostDevice is what hosts of a network that is played in user space call their only link.
const hostDevice = "weft0"

// NewHosts is the plan of a network that a live.Fabric plays: a namespace for each host, and nothing between them. Start
// makes them, AttachTUN joins them, and Stop takes them away.
func NewHosts(n *emulator.Network, name string) (*Plan, error) {
	if !goodName.MatchString(name) {
		return nil, fmt.Errorf("netns: the name %q; expected small letters, digits and -, a letter first, at most 12", name)
	}
	if n.Hosts > mostNodes {
		return nil, fmt.Errorf("netns: %d hosts; expected at most %d namespaces", n.Hosts, mostNodes)
	}
	p := &Plan{Name: name, userSpace: true}
	for _, l := range n.Links {
		p.Links = append(p.Links, l.Name)
	}
	for _, host := range n.NodeNames[:n.Hosts] {
		ns := name + "." + host
		p.Hosts = append(p.Hosts, ns)
		p.Up = append(p.Up, Command{"ip", "netns", "add", ns},
			Command{"ip", "netns", "exec", ns, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"},
			Command{"ip", "-n", ns, "link", "set", "lo", "up"})
	}
	return p, nil
}

// AttachTUN puts a device of the fabric into every host's namespace. The devices end with the fabric.
func (p *Plan) AttachTUN(ctx context.Context, f *live.Fabric, mtu int) error {
	for i, ns := range p.Hosts {
		err := Within(ns, func() error {
			_, err := f.AttachTUN(i, hostDevice, mtu)
			return err
		})
		if err == nil {
			err = do(ctx, Command{"ip", "-n", ns, "addr", "add", live.AddrOf(i).String() + "/8", "dev", hostDevice})
		}
		if err == nil {
			err = do(ctx, Command{"ip", "-n", ns, "link", "set", hostDevice, "up"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Set writes a setting of the kernel, as sysctl does, on every host of a network that is up.
func (p *Plan) Set(ctx context.Context, setting string) error {
	for _, ns := range p.Hosts {
		if err := do(ctx, Command{"ip", "netns", "exec", ns, "sysctl", "-qw", setting}); err != nil {
			return err
		}
	}
	return nil
}

// probeHosts tells what is missing for hosts alone.
func probeHosts(ctx context.Context, probe string) error {
	for _, program := range []string{"ip", "sysctl"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("netns: the program %s is missing (packages iproute2, procps)", program)
		}
	}
	file, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("netns: TUN devices need the kernel's tun and CAP_NET_ADMIN: %w", err)
	}
	_ = file.Close()
	if err := addProbe(ctx, probe); err != nil {
		return err
	}
	return do(context.WithoutCancel(ctx), Command{"ip", "netns", "del", probe})
}

// addProbe makes a namespace.
func addProbe(ctx context.Context, probe string) error {
	err := do(ctx, Command{"ip", "netns", "add", probe})
	if ctx.Err() != nil {
		_ = do(context.WithoutCancel(ctx), Command{"ip", "netns", "del", probe}) // which may be there, or half made
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("netns: namespaces need root, or the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN: %w", err)
	}
	return nil
}
