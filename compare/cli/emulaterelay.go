package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// emulateRelayCmd puts a path between programs that send UDP.
type emulateRelayCmd struct {
	Listen    string        `help:"Where clients send to, as 127.0.0.1:7000; port 0 chooses one." required:"" placeholder:"ADDRESS"`
	To        string        `help:"The server." required:"" placeholder:"ADDRESS"`
	Netem     string        `help:"Impairments in each direction, as tc netem writes them." placeholder:"LINE"`
	NetemBack string        `help:"Impairments from the server to clients, instead of --netem." placeholder:"LINE"`
	Rate      string        `help:"Rate of the path in each direction." default:"1Gbps"`
	Delay     string        `help:"Delay of the path in each direction, beside that of --netem." default:"0us"`
	Queue     int64         `help:"Room of the queue in front of the path, in bytes." default:"262144"`
	Dilation  float64       `help:"Seconds of the wall that one of the path takes." default:"1"`
	For       time.Duration `help:"End after this long; 0: at Ctrl-C." default:"0s"`
	JSON      bool          `name:"json" help:"Print the validity as one line of JSON on standard output at the end."`
}

// config is a switch between two hosts, 0 at the clients' end and 1 at the server's.
func (c *emulateRelayCmd) config() (live.Config, error) {
	none := live.Config{}
	rate, err := param.ParseRate(c.Rate)
	if err != nil || rate <= 0 {
		return none, fmt.Errorf("--rate %s: expected a rate above 0, as 100Mbps", c.Rate)
	}
	delay, err := param.ParseTime(c.Delay)
	if err != nil || delay < 0 || delay == instant.Never {
		return none, fmt.Errorf("--delay %s: expected a time of 0 or more, as 5ms", c.Delay)
	}
	if c.Queue < 1600 {
		return none, fmt.Errorf("--queue %d: expected 1600 bytes or more", c.Queue)
	}
	if err := checkDilation(c.Dilation); err != nil {
		return none, err
	}
	build, _, err := emulator.Topologies.Make("single", nil)
	if err != nil {
		return none, err
	}
	n, err := build(emulator.Spec{Hosts: 2, RateBps: rate, LinkDelay: delay / 2})
	if err != nil {
		return none, err
	}
	if c.NetemBack == "" {
		c.NetemBack = c.Netem
	}
	for _, way := range []struct{ flag, line, link string }{{"--netem", c.Netem, "switch0-h1"}, {"--netem-back", c.NetemBack, "switch0-h0"}} {
		if way.line == "" {
			continue
		}
		p, err := netem.Parse(way.line, nil)
		if err != nil {
			return none, fmt.Errorf("%s: %w", way.flag, err)
		}
		n.Links[n.LinkNamed(way.link)].Netem = &p
	}
	cfg := live.Config{Network: n, QueueBytes: c.Queue, Dilation: c.Dilation}
	const fullPayload = 1472
	return cfg, cfg.CheckCapacity(fullPayload, 1)
}

func (c *emulateRelayCmd) Run(a *app) error {
	cfg, err := c.config()
	if err != nil {
		return errUsage{err}
	}
	f, err := live.New(cfg)
	if err != nil {
		return errUsage{err}
	}
	r, err := live.NewRelay(f, live.RelayConfig{Listen: c.Listen, Target: c.To, From: 0, To: 1})
	if err != nil {
		return errors.Join(errUsage{err}, f.Close())
	}
	fmt.Fprintf(a.stderr, "%v to %s and back; Ctrl-C ends it\n", r.Addr(), c.To)
	ctx, stop := a.ctx, context.CancelFunc(func() {})
	if c.For > 0 {
		ctx, stop = context.WithTimeout(a.ctx, c.For)
	}
	defer stop()
	err = r.Run(ctx)
	v := f.Validity()
	err = errors.Join(err, f.Close())
	printShaped(a.stderr, v.Shaped)
	fmt.Fprintf(a.stderr, "validity: %v, %d datagrams lost outside the path\n", v, r.Lost())
	if c.JSON && err == nil {
		err = json.NewEncoder(a.stdout).Encode(struct {
			Kind     string        `json:"kind"`
			Validity live.Validity `json:"validity"`
			Lost     uint64        `json:"lost_outside_datagrams"`
		}{"relay", v, r.Lost()})
	}
	return err
}
