package runner_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/capture"
	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/core"
	uet "github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// eventful is a scenario in which packets meet every fate, with three protocols: trims and marks; drops in front of
// queues; pauses. One of two spines is cut off from the receivers' leaf for a while.
const eventful = `
name: eventful
fabric: {topology: leafspine, hosts: 16, leaves: 4, spines: 2, rate: 100Gbps, loss: {random: 0.3%, corrupt: 1%}, reroute: {local: 5us, global: never}}
faults: [{at: 8us, for: 20us, kind: down, link: "spine*-leaf0"}]
workload: {kind: incast, degree: 9, size: 128KiB, receiver: 0}
protocols:
  - "uet,class.queue=60KB,class.ecnMin=10KB,class.ecnMax=60KB"
  - "rocev2,class.flowControl=none,class.queue=60KB"
  - "rocev2,class.xoff=30KB,class.ecnMin=10KB,class.ecnMax=60KB"
`

// taped makes one run of protocol number i and returns it with the bytes of its capture.
func taped(t *testing.T, set *runner.Setting, i int, place capture.Place, limits capture.Limits) (*runner.Result, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.pcapng")
	opt := runner.Options{Flows: true, Pcap: &runner.Pcap{Place: place, Limits: limits, Program: "weft test",
		File: func(s *scenario.Scenario, e *scenario.Entry, seed uint64) string {
			require.Equal(t, "eventful 1 "+set.Scenario.Protocols[i].String(), fmt.Sprint(s.Name, " ", seed, " ", e))
			return path
		}}}
	r, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, opt)
	require.NoError(t, err)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	return r, file
}

// A seenFrame is one frame of a capture, read by code that is not ours.
type seenFrame struct {
	port     string
	at       time.Time
	way      pcapgo.NgEpbFlag
	packet   uint64
	comments string
	data     []byte
	ip       *layers.IPv4 // nil: a pause
}

func (f *seenFrame) says(what string) bool { return strings.Contains(f.comments, what) }

func framesOf(t *testing.T, file []byte) (frames []seenFrame, section pcapgo.NgSectionInfo) {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	require.NoError(t, err)
	for {
		data, info, more, err := r.ReadPacketDataWithOptions()
		if err == io.EOF {
			return frames, r.SectionInfo()
		}
		require.NoError(t, err)
		require.Equal(t, len(data), info.Length)
		port, err := r.Interface(info.InterfaceIndex)
		require.NoError(t, err)
		f := seenFrame{port: port.Name, at: info.Timestamp, way: more.Flags.Direction, packet: *more.PacketID, comments: strings.Join(more.Comments, "\n"), data: data}
		packet := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
		f.ip, _ = packet.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		if len(frames) > 0 {
			require.False(t, f.at.Before(frames[len(frames)-1].at), "frames are in the order of time")
		}
		frames = append(frames, f)
	}
}

// checkFrame holds one frame against its comments: checksums, marks, trims, padding.
func checkFrame(t *testing.T, f *seenFrame) {
	t.Helper()
	require.GreaterOrEqual(t, len(f.data), 60)
	config := encap.Default
	config.DSCP = capture.Rules
	b := f.data[14:]
	h, why := encap.Parse(b, &config)
	require.Equal(t, encap.OK, why)
	require.Equal(t, f.says("marked CE"), h.Class.ECN() == encap.CE, f.comments)
	trimmed := capture.Rules.IsTrimmed(h.Class.DSCP())
	require.Equal(t, f.says("trimmed"), trimmed, f.comments)
	require.Equal(t, trimmed, h.Missing > 0)
	padding := len(b) - h.End
	require.Equal(t, max(0, 46-h.End), padding)
	switch {
	case trimmed:
		require.Equal(t, uet.MinTrimmed, h.End-h.Payload)
	case h.Kind == encap.UETUDP:
		require.Equal(t, !f.says("damaged"), h.CheckCRC(b, uet.MostFirst), f.comments)
	default:
		require.Equal(t, encap.RoCE, h.Kind)
		sum, ok := roce.ICRC(b[:h.End-roce.ICRCSize])
		require.True(t, ok)
		require.Equal(t, !f.says("damaged"), sum == binary.LittleEndian.Uint32(b[h.End-4:h.End]), f.comments)
		var head roce.Header
		_, _, refusal := roce.Split(b[h.Payload:h.End], roce.Standard, &head)
		require.Equal(t, roce.Accepted, refusal)
	}
}

// count returns how many frames fit.
func count(frames []seenFrame, fits func(f *seenFrame) bool) (n uint64) {
	for i := range frames {
		if fits(&frames[i]) {
			n++
		}
	}
	return n
}

// TestCapturesHoldWhatWasCounted reads captures back and finds in them what the results count.
func TestCapturesHoldWhatWasCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("many frames, one goroutine")
	}
	set := settingOf(t, eventful)
	var said []string
	for i := range set.Scenario.Protocols {
		e := &set.Scenario.Protocols[i]
		hosts, links := capture.AtHosts, capture.AtLinks
		r, file := taped(t, set, i, hosts, capture.Limits{})
		plain, err := set.Run(context.Background(), e, 1, runner.Options{Flows: true})
		require.NoError(t, err)
		require.Equal(t, lineOf(t, plain), lineOf(t, r), "a capture changes nothing")
		_, again := taped(t, set, i, hosts, capture.Limits{})
		require.True(t, bytes.Equal(file, again), "the same run gives the same file")

		frames, section := framesOf(t, file)
		require.Equal(t, "weft test", section.Application)
		require.Contains(t, section.Comment, "scenario eventful, protocol "+e.String()+", seed 1.")
		for k := range frames {
			if frames[k].ip != nil {
				checkFrame(t, &frames[k])
			}
			said = append(said, frames[k].comments)
		}
		out := count(frames, func(f *seenFrame) bool { return f.way == pcapgo.NgEpbFlagDirectionOutbound })
		require.Equal(t, r.Run.PacketsSent, out)
		checkDrops(t, &r.Run, frames)
		checkJourneys(t, frames)

		r, file = taped(t, set, i, links, capture.Limits{})
		frames, _ = framesOf(t, file)
		for k := range frames {
			if frames[k].ip != nil {
				checkFrame(t, &frames[k])
			}
		}
		checkDrops(t, &r.Run, frames)
		pauses := count(frames, func(f *seenFrame) bool { return f.ip == nil })
		require.LessOrEqual(t, pauses, r.Run.PauseFrames)
		require.Equal(t, e.Class.Word("flowControl") == "pfc", pauses > 0)
		require.GreaterOrEqual(t, r.Run.LinkTransmissions, uint64(len(frames))-pauses-count(frames, func(f *seenFrame) bool { return f.port == capture.DropsPort }))
	}
	all := strings.Join(said, "\n")
	for _, what := range []string{"dropped in front of leaf0-h", "queue full at 60000 bytes, class rocev2 has ", ": lost on the link", ": link down", ": no route",
		"trimmed in front of leaf", "queue full at 60000 bytes, class uet has ", "marked CE in front of leaf", "marking begins at 10000 bytes, class uet has ", "damaged on ", "class rocev2 stops at h", "class rocev2 goes on at h"} {
		require.True(t, strings.Contains(all, what), what)
	}
}

func lineOf(t *testing.T, r *runner.Result) string {
	t.Helper()
	text, err := json.Marshal(struct {
		Run   compare.Run
		Flows []compare.Flow
	}{r.Run, r.Flows})
	require.NoError(t, err)
	return string(text)
}

// checkDrops compares the frames of dropped packets with the counts of a run.
func checkDrops(t *testing.T, run *compare.Run, frames []seenFrame) {
	t.Helper()
	because := func(why ...string) uint64 {
		return count(frames, func(f *seenFrame) bool {
			if !strings.HasPrefix(f.comments, "dropped") {
				require.NotEqual(t, capture.DropsPort, f.port)
				return false
			}
			require.Equal(t, capture.DropsPort, f.port)
			first, _, _ := strings.Cut(f.comments, "\n")
			for _, w := range why {
				if strings.Contains(first, w) {
					return true
				}
			}
			return false
		})
	}
	require.Equal(t, run.Dropped.Queue, because("queue full", "buffer full"))
	require.Equal(t, run.Dropped.Random, because("lost on the link"))
	require.Equal(t, run.Dropped.Fault, because("link down", "no route"))
}

// checkJourneys follows packets by their numbers through a capture at hosts: sent once, then received or
// dropped at most once, by the host it was for, with a hop less for each switch.
func checkJourneys(t *testing.T, frames []seenFrame) {
	t.Helper()
	sent, ended := map[uint64]*seenFrame{}, map[uint64]bool{}
	for i := range frames {
		f := &frames[i]
		if f.ip == nil {
			continue
		}
		if f.way == pcapgo.NgEpbFlagDirectionOutbound {
			require.Nil(t, sent[f.packet])
			require.Equal(t, fmt.Sprint("h", f.ip.SrcIP[3]), f.port)
			require.EqualValues(t, 64, f.ip.TTL)
			sent[f.packet] = f
			continue
		}
		before := sent[f.packet]
		require.NotNil(t, before)
		require.Equal(t, before.ip.SrcIP, f.ip.SrcIP)
		require.Equal(t, before.ip.DstIP, f.ip.DstIP)
		require.Equal(t, before.data[34:36], f.data[34:36], "the entropy value stays")
		require.False(t, ended[f.packet])
		ended[f.packet] = true
		if f.port == capture.DropsPort {
			require.LessOrEqual(t, f.ip.TTL, uint8(64))
			continue
		}
		require.Equal(t, pcapgo.NgEpbFlagDirectionInbound, f.way)
		require.Equal(t, fmt.Sprint("h", f.ip.DstIP[3]), f.port)
		require.Contains(t, []uint8{63, 61}, f.ip.TTL, "under one leaf, or over a spine")
	}
	require.Greater(t, len(ended), len(sent)/2)
}

func TestCapturesAreBounded(t *testing.T) {
	set := settingOf(t, eventful)
	_, whole := taped(t, set, 0, capture.AtHosts, capture.Limits{})
	r, file := taped(t, set, 0, capture.AtHosts, capture.Limits{Packets: 100})
	frames, _ := framesOf(t, file)
	require.Len(t, frames, 100)
	require.Contains(t, frames[99].comments, "the capture ends here, at its limit of 100 packets")
	require.NotContains(t, frames[98].comments, "the capture ends here")
	require.Equal(t, r.Run.Flows, r.Run.Finished, "the run goes on")

	_, file = taped(t, set, 0, capture.AtHosts, capture.Limits{Snap: 128})
	in, err := capture.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	full, err := capture.NewReader(bytes.NewReader(whole))
	require.NoError(t, err)
	for {
		var a, b capture.Frame
		errA, errB := in.Next(&a), full.Next(&b)
		require.Equal(t, errB, errA)
		if errA != nil {
			require.Equal(t, io.EOF, errA)
			break
		}
		require.Equal(t, b.Length, a.Length)
		require.Equal(t, b.Data[:min(128, len(b.Data))], a.Data)
		require.Equal(t, b.Comments, a.Comments)
	}
}

// TestAnInterruptedCaptureIsWhole interrupts a run on its way, and lets another fail; their files are read to the end.
func TestAnInterruptedCaptureIsWhole(t *testing.T) {
	set := settingOf(t, strings.Replace(eventful, "128KiB", "512KiB", 1))
	for _, interrupt := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "cut.pcapng")
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		opt := runner.Options{Pcap: &runner.Pcap{File: func(*scenario.Scenario, *scenario.Entry, uint64) string { return path }, Limits: capture.Limits{Snap: 64}}}
		opt.Wrap = func(_ int, s core.Stack) core.Stack {
			return liar{s, func(p *core.Packet) bool {
				if calls++; calls == 1000 && interrupt {
					cancel()
				}
				return interrupt || calls != 1000 // a packet that is withheld breaks the books
			}}
		}
		_, err := set.Run(ctx, &set.Scenario.Protocols[1], 1, opt)
		cancel()
		require.Error(t, err)
		require.Equal(t, interrupt, runner.Interrupted(err), "%v", err)
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		in, err := capture.NewReader(file)
		require.NoError(t, err)
		n := 0
		for ; err == nil; n++ {
			err = in.Next(new(capture.Frame))
		}
		require.Equal(t, io.EOF, err)
		require.Greater(t, n, 2000)
	}
}

func TestACaptureThatCannotBeWrittenFailsTheRun(t *testing.T) {
	set := settingOf(t, eventful)
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no full device here")
	}
	for path, want := range map[string]string{
		"/dev/full":               "eventful, " + set.Scenario.Protocols[0].Label + ", seed 1: --pcap: write /dev/full: no space left on device",
		t.TempDir() + "/no/where": "no such file or directory",
	} {
		opt := runner.Options{Pcap: &runner.Pcap{File: func(*scenario.Scenario, *scenario.Entry, uint64) string { return path }}}
		_, err := set.Run(context.Background(), &set.Scenario.Protocols[0], 1, opt)
		require.ErrorContains(t, err, want)
	}
}

// TestStrangersReadCaptures has tshark decode the captures of RoCE v2, opcode by opcode. Package transport/wire/wireshark
// does so with those of UET.
func TestStrangersReadCaptures(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil && os.Getenv("WEFT_TSHARK") != "required" {
		t.Skip("tshark is not installed")
	}
	require.NoError(t, err)
	set := settingOf(t, eventful)
	for i, place := range []capture.Place{capture.AtHosts, capture.AtLinks} {
		_, file := taped(t, set, 1+i, place, capture.Limits{})
		path := filepath.Join(t.TempDir(), "read.pcapng")
		require.NoError(t, os.WriteFile(path, file, 0o666))
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		out, err := exec.CommandContext(ctx, tshark, "-n", "-r", path, "-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.malformed", "-e", "infiniband.bth.opcode",
			"-e", "frame.interface_name", "-e", "frame.comment", "-e", "macc.cbfc.enbv").Output()
		cancel()
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		frames, _ := framesOf(t, file)
		require.Len(t, lines, len(frames))
		for k, line := range lines {
			f := &frames[k]
			got := strings.Split(line, "\t")
			require.Empty(t, got[1], "malformed: frame %d", k+1)
			require.Equal(t, f.port, got[3])
			require.Equal(t, strings.ReplaceAll(f.comments, "\n", ","), got[4])
			if f.ip == nil {
				require.Equal(t, []string{"MAC CTRL", "0x0008"}, []string{got[0], got[5]})
			} else {
				require.Equal(t, []string{"RRoCE", fmt.Sprint(f.data[14+20+8])}, []string{got[0], got[2]})
			}
		}
	}
}
