package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// A Veth is two network namespaces with one virtual cable between them, for as long as it is needed.
type Veth struct {
	names [2]string
	made  int
}

var veths atomic.Int64 // made so far

// Addresses at the two ends of the cable. Nobody outside sees them.
var vethAddresses = [2]string{"10.255.77.1", "10.255.77.2"}

// NewVeth makes one, of an MTU. It takes root, and the program ip (iproute2).
func NewVeth(ctx context.Context, mtu int, kind Cable) (*Veth, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("--network veth: network namespaces take root; expected loopback, or sudo")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, errors.New("--network veth: the program ip is missing; iproute2 has it")
	}
	v, number := &Veth{}, veths.Add(1)
	for i := range v.names {
		v.names[i] = fmt.Sprintf("weftv%s-%d.h%d", strconv.FormatInt(int64(os.Getpid())%1e5, 36), number, i) // as emulator/netns names hosts: weft emulate down finds them
		err := ip(ctx, "netns add "+v.names[i])
		if err == nil || ctx.Err() != nil { // then it may be there, or half made
			v.made++
		}
		if err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	steps := []string{fmt.Sprintf("-n %s link add eth0 mtu %d type veth peer name eth0 mtu %d netns %s", v.names[0], mtu, mtu, v.names[1])}
	for i, name := range v.names {
		steps = append(steps, "-n "+name+" address add "+vethAddresses[i]+"/30 dev eth0", "-n "+name+" link set lo up", "-n "+name+" link set eth0 up")
	}
	for _, step := range steps {
		if err := ip(ctx, step); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	for _, name := range v.names {
		if err := offload(name, "eth0", kind); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	return v, nil
}

// Processes returns what launches a program at the two ends.
func (v *Veth) Processes(program string) *Processes {
	in := func(i int) []string { return []string{"ip", "netns", "exec", v.names[i], program} }
	return &Processes{Server: in(0), Client: in(1), Address: vethAddresses[0]}
}

// Close takes the namespaces away, and with them the cable.
func (v *Veth) Close() (err error) {
	for _, name := range v.names[:v.made] {
		err = errors.Join(err, ip(context.Background(), "netns delete "+name))
	}
	v.made = 0
	return err
}

func ip(ctx context.Context, args string) error {
	cmd := exec.CommandContext(ctx, "ip", strings.Fields(args)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's interrupt ends us, and we what is under way; not what takes things away
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, strings.TrimSpace(string(out)))
	}
	return nil
}
