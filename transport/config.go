package transport

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
	"github.com/weft-transport/weft/transport/splitmix"
	"github.com/weft-transport/weft/transport/udp"
)

// A Config says how an Endpoint behaves. The zero value is usable.
type Config struct {
	// Congestion and Spray choose algorithms as the command line does: "nscc", "fixed,window=1MiB", "reps,evs=128".
	// Empty: those of Core, or else nscc, and oblivious over 64 entropy values in runs of 16.
	Congestion, Spray string
	// MaxPending is how many operations may be under way at once, receives included; 0: 4096. Blocking operations
	// beyond it wait, a Queue's are refused with ErrBusy.
	MaxPending int
	// StreamBuffer is how much a stream keeps at each end, bytes, rounded up to a power of two from 4 KiB to 16 MiB; 0: 256 KiB.
	StreamBuffer int
	// Core has everything else of the protocol. Self and Remote are filled in. Of what is zero, IdleClose becomes 30 s and
	// TargetIdle 90 s; BaseRTT is learnt (LearnRTT), RTO adaptive from 1 ms (1 to 500 ms, 8 retries). Listen makes
	// the least BaseRTT 100 us, RTO adaptive from 20 ms (10 to 500 ms, 12 retries), PacingSlack 50 us, turns FastLoss and
	// TailProbe on, since nothing trims, and draws a Seed. Both are left alone if any field of either is set: TailProbe.MaxProbes 5 with
	// both off has losses found by timers only. The rest has the defaults of package core.
	Core core.Config
	// UDP has everything of the sockets. Local is filled in by Listen.
	UDP udp.Config
	// Logger, if not nil, gets one line (Info) when the endpoint opens, with what the system grants, and one when it closes,
	// with what became of its packets and which offloads have switched themselves off. Nothing is logged in between.
	Logger *slog.Logger
}

// headers is what a request takes of a packet before its payload: the PDS header and a standard SES header.
const headers = 12 + 44

// Listen opens an endpoint on the UDP port of an address of this host: "10.0.0.1:4793". Port 0 takes a free block of
// ports, no port takes 4793. Several addresses, one for each rail, are separated by commas.
func Listen(ctx context.Context, address string, c Config) (*Endpoint, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, &OpError{Op: OpListen, Peer: address, Err: err}
	}
	c.UDP.Local = nil
	for _, word := range strings.Split(address, ",") {
		local, err := parseLocal(word)
		if err != nil {
			return nil, &OpError{Op: OpListen, Peer: address, Err: fmt.Errorf("%w: %w", ErrConfig, err)}
		}
		c.UDP.Local = append(c.UDP.Local, local)
	}
	carrier, err := udp.Listen(c.UDP)
	if err != nil {
		return nil, &OpError{Op: OpListen, Peer: address, Err: refusedToOpen(err)}
	}
	for c.Core.Seed == 0 {
		c.Core.Seed = rand.Uint64() // a process that comes back must not begin with the numbers of the one before
	}
	wallClock(&c.Core)
	e, err := New(carrier, c)
	if err != nil {
		carrier.Close()
		return nil, err
	}
	return e, nil
}

func parseLocal(word string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(word); err == nil {
		return netip.AddrPortFrom(a, udp.UET{}.Port()), nil
	}
	a, err := netip.ParseAddrPort(word)
	if err != nil {
		err = fmt.Errorf("%q; expected an IP address of this host, or address:port", word)
	}
	return a, err
}

// wallClock fills in what sockets of machines that are busy with other things need: processes sleep for
// milliseconds, and a timer that such a sleep sets off sends everything again.
func wallClock(c *core.Config) {
	if c.BaseRTT == 0 {
		c.BaseRTT, c.LearnRTT = 100*instant.Microsecond, true
	}
	orDefault(&c.PacingSlack, 50*instant.Microsecond) // as long as a loop takes to come round when it is busy
	if c.FastLoss == (core.FastLossConfig{}) && c.TailProbe == (core.TailProbeConfig{}) {
		c.FastLoss.On, c.TailProbe.On = true, true // nothing trims here, and a timer that sleeping processes do not set off is slow
	}
	if c.RTO == (core.RTOConfig{}) {
		c.RTO = core.RTOConfig{Init: 20 * instant.Millisecond, Max: 500 * instant.Millisecond, Adaptive: true, Floor: 10 * instant.Millisecond, MaxRetries: 12}
	}
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// complete fills in what the Driver and the choices of algorithms say.
func (c *Config) complete(d core.Driver) error {
	orDefault(&c.MaxPending, 4096)
	orDefault(&c.StreamBuffer, streamRing)
	if c.MaxPending < 1 || c.MaxPending > 1<<20 {
		return fmt.Errorf("%w: MaxPending is %d; expected 1 to %d", ErrConfig, c.MaxPending, 1<<20)
	}
	k := &c.Core
	k.Self, k.Remote = d.Self(), d.Remote
	if now := d.Now(); now > 0 { // in virtual time, a host that comes back
		k.Seed ^= splitmix.Mix(uint64(now))
	}
	k.OnlyRegistered = true
	orDefault(&k.IdleClose, 30*instant.Second)
	orDefault(&k.TargetIdle, 90*instant.Second)
	k.Resources = max(k.Resources, deskResource+1)
	if k.PayloadMTU == 0 {
		k.PayloadMTU = payloadMTU(d.MTU())
	}
	if k.BaseRTT == 0 && k.BaseRTTOf == nil {
		k.LearnRTT = true
	}
	if k.RTO == (core.RTOConfig{}) { // as core's, where round trips are short
		k.RTO = core.RTOConfig{Init: instant.Millisecond, Max: 500 * instant.Millisecond, Adaptive: true, Floor: instant.Millisecond, MaxRetries: 8}
	}
	if k.PayloadMTU < 256 || k.PayloadMTU+headers > d.MTU() {
		return fmt.Errorf("%w: a payload MTU of %d bytes needs packets of %d; the carrier takes %d", ErrConfig, k.PayloadMTU, k.PayloadMTU+headers, d.MTU())
	}
	if c.Spray == "" && k.NewSprayer == nil {
		c.Spray = "oblivious,evs=64,run=16"
	}
	if c.Congestion != "" {
		make, err := choose(&congestion.Registry, c.Congestion)
		if err != nil {
			return err
		}
		k.NewController = make
	}
	if c.Spray != "" {
		make, err := choose(&spray.Registry, c.Spray)
		if err != nil {
			return err
		}
		k.NewSprayer = make
	}
	return nil
}

// payloadMTU is the largest size that the specification names and a carrier takes, or what it takes if that is less.
func payloadMTU(most int) int {
	for _, size := range []int{4096, 2048, 1024} {
		if size+headers <= most {
			return size
		}
	}
	return most - headers
}

// choose reads "name,key=value,...".
func choose[T any](r *param.Registry[T], spec string) (T, error) {
	name, rest, _ := strings.Cut(spec, ",")
	given := make(map[string]string)
	for _, word := range strings.FieldsFunc(rest, func(c rune) bool { return c == ',' }) {
		key, value, found := strings.Cut(word, "=")
		if !found {
			var none T
			return none, fmt.Errorf("%w: %s %q: %q has no value; expected key=value", ErrConfig, r.Noun, spec, word)
		}
		given[key] = value
	}
	algorithm, _, err := r.Make(name, given)
	if err != nil {
		return algorithm, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return algorithm, nil
}
