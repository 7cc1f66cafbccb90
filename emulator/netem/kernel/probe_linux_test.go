package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/emulator/netns"
)

// TestInGuest runs in the guest alone, as the kernel's end: it sends the packets of every case from namespace a to namespace b and
// prints a line for each figure.
func TestInGuest(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("WEFT_IN_GUEST"))
	if n == 0 {
		t.Skip("runs in the guest that .ci/netem builds")
	}
	p := newProbe(t)
	p.netem("limit 200000")
	base := p.measure(t, min(n, 3000), 0)
	at := delays(base, 0)
	slices.Sort(at)
	middle := int64(at[len(at)/2] * 1e6)
	fmt.Printf("base\t%d\n", middle)
	p.seeds = p.tryNetem("limit 200000 seed 1") == nil
	for _, k := range cases() {
		seeded := strings.Contains(k.line, "seed")
		if seeded && !p.seeds {
			continue
		}
		line := withLimit(k.line)
		if p.seeds && !seeded {
			line += " seed " + strconv.Itoa(seed)
		}
		p.netem(line)
		begun := time.Now()
		tr := p.measure(t, n, k.gap)
		fmt.Printf("took\t%s\t%v\n", k.name, time.Since(begun))
		if p.seeds {
			fmt.Printf("figure\t%s\tset\t%d\t%d\n", k.name, set(tr), n)
		}
		for _, f := range k.figures(tr, middle) {
			fmt.Printf("figure\t%s\t%s\t%.9g\t%.9g\n", k.name, f.name, f.value, f.trials)
		}
	}
	fmt.Println("all figures are here")
}

// A probe is two namespaces, a and b, joined by a cable, and a packet socket at each end.
type probe struct {
	t               *testing.T
	seeds           bool // this kernel and this tc know "seed"
	ends            [2]int
	frame, expected []byte // a packet to send, and as it should arrive
	inbox           *inbox
}

func (p *probe) ip(line string) {
	out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
	require.NoError(p.t, err, "ip %s: %s", line, out)
}

func (p *probe) netem(line string) { require.NoError(p.t, p.tryNetem(line)) }

// tryNetem gives the cable's end in a a new netem.
func (p *probe) tryNetem(line string) error {
	exec.Command("tc", "-n", "a", "qdisc", "del", "dev", "va", "root").Run()
	out, err := exec.Command("tc", append(strings.Fields("-n a qdisc add dev va root netem"), strings.Fields(line)...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tc netem %s: %w: %s", line, err, out)
	}
	return nil
}

func newProbe(t *testing.T) *probe {
	p := &probe{t: t, frame: make([]byte, packetBytes), inbox: newInbox()}
	p.ip("netns add a")
	p.ip("netns add b")
	p.ip("link add va address 02:00:00:00:00:0a netns a type veth peer name vb address 02:00:00:00:00:0b netns b")
	for i, name := range []string{"a", "b"} {
		p.ip("-n " + name + " link set v" + name + " up")
		require.NoError(t, netns.Within(name, func() error {
			const all = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL&0xff<<8
			protocol := []int{0, all}[i] // who sends does not want to hear
			fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
			if err != nil {
				return err
			}
			link, err := net.InterfaceByName("v" + name)
			if err != nil {
				return err
			}
			p.ends[i] = fd
			return errors.Join(unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(protocol), Ifindex: link.Index}),
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 1<<29), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<28),
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, i))
		}))
	}
	copy(p.frame, "\x02\x00\x00\x00\x00\x0b\x02\x00\x00\x00\x00\x0a\x08\x00\x45\x02") // ECT(0)
	binary.BigEndian.PutUint16(p.frame[16:], packetBytes-14)
	p.frame[22], p.frame[23] = 64, 253
	copy(p.frame[26:], "\x0a\x00\x00\x01\x0a\x00\x00\x02")
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(p.frame[i:]))
	}
	binary.BigEndian.PutUint16(p.frame[24:], ^uint16(sum>>16+sum))
	p.expected = bytes.Clone(p.frame)
	return p
}

// number writes the number of a packet over all of its payload.
func number(frame []byte, id int) {
	payload := frame[34:]
	binary.LittleEndian.PutUint32(payload, uint32(id))
	for n := 4; n < len(payload); n *= 2 {
		copy(payload[n:], payload[:n])
	}
}

// measure sends n packets and waits for what arrives. It avoids whatever takes instructions, since those are the time that passes.
func (p *probe) measure(t *testing.T, n int, gap int64) *trace {
	tr := &trace{sent: make([]int64, n), bytes: packetBytes, arrivals: make([]arrival, 0, n+n/8)}
	begin := time.Now().UnixNano()
	for i := range n {
		if gap > 0 {
			rest := unix.NsecToTimespec(begin + int64(i)*gap)
			for unix.ClockNanosleep(unix.CLOCK_REALTIME, unix.TIMER_ABSTIME, &rest, nil) == unix.EINTR {
			}
		}
		number(p.frame, i)
		tr.sent[i] = time.Now().UnixNano()
		if _, err := unix.Write(p.ends[0], p.frame); err != nil && !errors.Is(err, unix.ENOBUFS) { // netem is full
			require.NoError(t, err)
		}
		if i%batch == batch-1 {
			for p.receive(t, tr, unix.MSG_DONTWAIT) == batch {
			}
		}
	}
	patience := unix.NsecToTimeval(int64(2 * time.Second)) // longer than any packet waits for those before it, in virtual time
	require.NoError(t, unix.SetsockoptTimeval(p.ends[1], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience))
	for p.receive(t, tr, unix.MSG_WAITFORONE) > 0 {
	}
	return tr
}

// batch is how many packets one system call takes.
const batch = 32

// An inbox is what recvmmsg writes into.
type inbox struct {
	headers [batch]struct {
		unix.Msghdr
		n uint32
	}
	pieces  [batch]unix.Iovec
	frames  [batch][packetBytes + 4]byte
	control [batch][64]byte
}

func newInbox() *inbox {
	b := &inbox{}
	for i := range b.headers {
		b.pieces[i].Base = &b.frames[i][0]
		b.pieces[i].SetLen(len(b.frames[i]))
		b.headers[i].Iov, b.headers[i].Control = &b.pieces[i], &b.control[i][0]
		b.headers[i].SetIovlen(1)
	}
	return b
}

// receive takes up to a batch of packets, and returns how many there were.
func (p *probe) receive(t *testing.T, tr *trace, flags int) int {
	for i := range p.inbox.headers {
		p.inbox.headers[i].SetControllen(len(p.inbox.control[i]))
	}
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(p.ends[1]), uintptr(unsafe.Pointer(&p.inbox.headers)), batch, uintptr(flags), 0, 0)
	if errno == unix.EAGAIN {
		return 0
	}
	if errno != 0 {
		require.NoError(t, errno)
	}
	for i := range int(n) {
		got, control := p.inbox.frames[i][:p.inbox.headers[i].n], p.inbox.control[i][unix.SizeofCmsghdr:]
		if len(got) != packetBytes {
			require.Len(t, got, packetBytes)
		}
		at := int64(binary.LittleEndian.Uint64(control))*1e9 + int64(binary.LittleEndian.Uint64(control[8:]))
		tr.arrivals = append(tr.arrivals, p.read(t, got, at, len(tr.sent)))
	}
	return int(n)
}

// read finds out which packet it was and what has become of it.
func (p *probe) read(t *testing.T, got []byte, at int64, sent int) arrival {
	one, two := binary.LittleEndian.Uint32(got[34:]), binary.LittleEndian.Uint32(got[38:])
	if one != two { // one of them was hurt
		one = binary.LittleEndian.Uint32(got[42:])
	}
	a := arrival{id: int(one), at: at}
	if a.id >= sent {
		require.Less(t, a.id, sent)
	}
	number(p.expected, a.id)
	if bytes.Equal(got, p.expected) {
		return a
	}
	if got[15] == p.expected[15]|3 && !bytes.Equal(got[24:26], p.expected[24:26]) {
		a.marked = true
		got[15] = p.expected[15]
		copy(got[24:26], p.expected[24:26]) // the sum changes with the mark
	}
	for i := range got {
		if x := got[i] ^ p.expected[i]; x != 0 {
			a.hurt += bits.OnesCount8(x)
			a.where = 8*i + bits.TrailingZeros8(x)
		}
	}
	return a
}
