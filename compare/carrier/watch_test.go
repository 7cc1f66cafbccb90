package carrier_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/carrier"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// keeping is the options of a run that is captured, and the frames of its file, when it has ended.
func keeping(t *testing.T, place capture.Place) (opt runner.Options, frames func() []capture.Frame) {
	path := filepath.Join(t.TempDir(), "run.pcapng")
	opt = runner.Options{Flows: true, Pcap: &runner.Pcap{Place: place, Program: "test",
		File: func(*scenario.Scenario, *scenario.Entry, uint64) string { return path }}}
	return opt, func() (all []capture.Frame) {
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		in, err := capture.NewReader(file)
		require.NoError(t, err)
		for {
			var f capture.Frame
			if err := in.Next(&f); err == io.EOF {
				return all
			}
			require.NoError(t, err)
			f.Data = bytes.Clone(f.Data) // they are the reader's
			all = append(all, f)
		}
	}
}

// udpPort and dscp read a frame of Ethernet, IPv4 and UDP.
func udpPort(f *capture.Frame) int { return int(binary.BigEndian.Uint16(f.Data[36:])) }
func dscp(f *capture.Frame) int    { return int(f.Data[15] >> 2) }

// TestCaptures: all that hosts in process send is in the file, from the beginning of the run on, with the code points of virtual time.
func TestCaptures(t *testing.T) {
	for _, p := range []struct {
		name               string
		port, data, answer int
	}{{"uet", 4793, 0, 46}, {"rocev2", 4791, 26, 48}} {
		set := setting(t, small, p.name)
		opt, frames := keeping(t, capture.AtHosts)
		const fast = 0.05 // so that the network is not quite new when the run begins
		r, err := (&carrier.Carrier{Kind: carrier.Live, Dilation: fast, Watched: true}).Run(t.Context(), set, &set.Scenario.Protocols[0], 1, opt)
		require.NoError(t, err)
		complete(t, r, 4, 4*100<<10)
		sent, points := uint64(0), map[int]int{}
		for _, f := range frames() {
			require.True(t, udpPort(&f) == p.port)
			points[dscp(&f)]++
			if f.Direction == capture.Outbound {
				sent++
			}
		}
		require.GreaterOrEqual(t, sent, r.Run.PacketsSent)
		require.GreaterOrEqual(t, points[p.data], 800, "there, and here")
		require.NotZero(t, points[p.answer])
		begun := r.Flows[0].Start
		for _, f := range r.Flows {
			begun = min(begun, f.Start)
		}
		require.InDelta(t, float64(begun), float64(frames()[0].Time.UnixNano()), 1000, "both clocks begin with the run")
	}
}

// TestCapturesOfPrograms: packets of sockets are those of IP, and begin before the run does.
func TestCapturesOfPrograms(t *testing.T) {
	set := setting(t, small, "quic")
	opt, frames := keeping(t, capture.AtLinks)
	opt.Trace, opt.Contexts = true, true
	r, err := (&carrier.Carrier{Kind: carrier.Live, Dilation: 1, Watched: true}).Run(t.Context(), set, &set.Scenario.Protocols[0], 1, opt)
	require.NoError(t, err)
	complete(t, r, 4, 4*100<<10)
	all := frames()
	require.Greater(t, len(all), 2*4*70, "two links at least, of 1452 bytes each")
	for _, f := range all {
		require.Contains(t, []int{4433}, udpPort(&f))
	}
	require.Contains(t, strings.Join(r.Run.RealTime.Notes, "\n"), "in the capture, the run begins at ")
	kinds := map[string]int{}
	for _, s := range r.Samples {
		switch {
		case s.Flow != "":
			kinds["flow"]++
		case s.Queue != "":
			kinds["queue"]++
		case s.Link != "":
			kinds["link"]++
			require.LessOrEqual(t, *s.Load, 1.01)
		}
	}
	require.Zero(t, kinds["flow"], "it has no contexts of ours")
	require.Positive(t, kinds["queue"])
	require.Positive(t, kinds["link"])
}

// TestTraces: what hosts in process hold is sampled, from the beginning of the run on.
func TestTraces(t *testing.T) {
	set := setting(t, small, "uet")
	opt := runner.Options{Trace: true, Contexts: true}
	r, err := (&carrier.Carrier{Kind: carrier.Live, Dilation: 1}).Run(t.Context(), set, &set.Scenario.Protocols[0], 1, opt)
	require.NoError(t, err)
	flows := map[string]bool{}
	for _, s := range r.Samples {
		require.False(t, s.At < 0)
		if s.Flow != "" {
			flows[s.Flow] = true
			require.NotNil(t, s.InFlight)
		}
	}
	require.Len(t, flows, 4)
}

// TestCapturesOfNamespaces: links are in user space then, and the code points are those of the protocol's classes.
func TestCapturesOfNamespaces(t *testing.T) {
	needNamespaces(t)
	for _, p := range []struct {
		name string
		want []int
	}{{"uet,retries=-1", []int{0, 46}}, {"rocev2,retries=-1", []int{26, 48}}, {"tcp", []int{0}}} {
		set := setting(t, small, p.name)
		opt, frames := keeping(t, capture.AtHosts)
		c := &carrier.Carrier{Kind: carrier.Netns, Dilation: 1, Watched: true}
		require.NoError(t, c.Fits(t.Context(), set))
		r, err := c.Run(t.Context(), set, &set.Scenario.Protocols[0], 1, opt)
		require.NoError(t, err)
		complete(t, r, 4, 4*100<<10)
		require.Contains(t, strings.Join(r.Run.RealTime.Notes, "\n"), "links in user space, because those of the kernel keep no captures")
		points := map[int]int{}
		for _, f := range frames() {
			if f.Data[23] == 6 || udpPort(&f) == 4791 || udpPort(&f) == 4793 { // others are of the kernel itself
				points[dscp(&f)]++
			}
		}
		require.Len(t, points, len(p.want), "%v", points)
		for _, d := range p.want {
			require.NotZero(t, points[d], "%s: %v", p.name, points)
		}
		nothingLeft(t)
	}
}

// TestFullDisks: a capture that cannot be kept is a run that failed.
func TestFullDisks(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	set := setting(t, small, "uet")
	opt := runner.Options{Pcap: &runner.Pcap{File: func(*scenario.Scenario, *scenario.Entry, uint64) string { return "/dev/full" }}}
	_, err := (&carrier.Carrier{Kind: carrier.Live, Dilation: 1, Watched: true}).Run(t.Context(), set, &set.Scenario.Protocols[0], 1, opt)
	require.EqualError(t, err, "small, uet, seed 1: --pcap: write /dev/full: no space left on device")
}
