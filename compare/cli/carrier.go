package cli

import (
	"errors"
	"fmt"

	"github.com/weft-transport/weft/compare/carrier"
	"github.com/weft-transport/weft/compare/runner"
)

// carrierFlags say what carries the packets of runs.
type carrierFlags struct {
	Carrier  string  `help:"What carries the packets: fabric, in virtual time; live, an emulated fabric in wall-clock time, in process (tcp: between network namespaces); netns, the kernel's sockets in network namespaces, with its own links (tc) where it has what the scenario needs. Between hosts: weft perf compare." enum:"fabric,live,netns" default:"fabric"`
	Dilation float64 `help:"In wall-clock time: seconds of the wall that one of the network takes. 10 makes links ten times as slow and delays ten times as long." default:"1"`
}

// player returns what makes the runs; nil: the fabric in virtual time.
func (c *carrierFlags) player(of *common) (runner.Player, error) {
	if c.Carrier == "fabric" {
		if c.Dilation != 1 {
			return nil, errUsage{errors.New("--dilation: virtual time has no wall; expected --carrier live with it")}
		}
		return nil, nil
	}
	if err := checkDilation(c.Dilation); err != nil {
		return nil, err
	}
	if of.Times {
		return nil, errUsage{fmt.Errorf("--times: not with --carrier %s; expected it in virtual time", c.Carrier)}
	}
	if of.Trace != "" && c.Carrier == carrier.Netns {
		return nil, errUsage{errors.New("--trace: hosts behind sockets of the kernel cannot be looked into while they run; expected it in virtual time, or with --carrier live")}
	}
	return &carrier.Carrier{Kind: c.Carrier, Dilation: c.Dilation, Watched: of.Pcap != ""}, nil
}

func checkDilation(d float64) error {
	if d >= 0.001 && d <= 1e6 {
		return nil
	}
	return errUsage{fmt.Errorf("--dilation %v: expected 0.001 to 1000000 seconds of the wall for one of the network", d)}
}
