package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/weft-transport/weft/transport/wire"
)

// A codec is a header with its reader, for tests that treat all alike. reput parses b and, if
// it is accepted, writes what was read; size is how many bytes the reader needs at least.
type codec struct {
	name     string
	size     int
	reput    func(b, out []byte) (n int, why Reason)
	reserved func(b []byte) []byte // bits of b that need not survive: those reserved, and those that always are 1
}

// reputs joins a Parse function and the header's Put.
func reputs[T any, P interface {
	*T
	Put([]byte) int
}](parse func([]byte) (T, Reason)) func(b, out []byte) (int, Reason) {
	return func(b, out []byte) (int, Reason) {
		h, why := parse(b)
		if why != OK {
			return 0, why
		}
		return P(&h).Put(out), OK
	}
}

// mask returns bits for a header: pairs of offset and bits of one byte.
func mask(pairs ...int) func([]byte) []byte {
	m := make([]byte, 64)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = byte(pairs[i+1])
	}
	return func([]byte) []byte { return m }
}

var (
	noneReserved     = mask()
	standardStart    = mask(0, 0xc0, 8, 0xf0, 10, 0xf0)
	standardLater    = mask(0, 0xc0, 8, 0xf0, 10, 0xf0, 32, 0xff, 33, 0xff, 34, 0xc0)
	creditReserved   = mask(27, 0xff, 28, 0xff, 29, 0xff)
	standardReserved = func(b []byte) []byte {
		if SESFlags(b[1])&SESStart != 0 {
			return standardStart(b)
		}
		return standardLater(b)
	}
	ackCCReserved = func(b []byte) []byte {
		if CCType(b[12]>>4) == CCCredit {
			return creditReserved(b)
		}
		return noneReserved(b)
	}
)

var codecs = []codec{
	{"request", RequestSize, reputs[Request](ParseRequest), noneReserved},
	{"ack", AckSize, reputs[Ack](ParseAck), noneReserved},
	{"ack_cc", AckCCSize, reputs[AckCC](ParseAckCC), ackCCReserved},
	{"ack_ccx", AckCCXSize, reputs[AckCCX](ParseAckCCX), noneReserved},
	{"nack", NackSize, reputs[Nack](ParseNack), noneReserved},
	{"nack_ccx", NackCCXSize, reputs[NackCCX](ParseNackCCX), noneReserved},
	{"control", ControlSize, reputs[Control](ParseControl), noneReserved},
	{"rudi", RUDISize, reputs[RUDI](ParseRUDI), mask(2, 0xff, 3, 0xff)},
	{"tss", TSSSize, reputs[TSS](ParseTSS), mask(0, 0x02)},
	{"standard", StandardSize, reputs[Standard](ParseStandard), standardReserved},
	{"medium", MediumSize, reputs[Medium](ParseMedium), mask(0, 0xc0, 1, 3, 2, 0xc0, 8, 0xf0, 10, 0xf0)},
	{"small", SmallSize, reputs[Small](ParseSmall), mask(0, 0xc0, 1, 3, 2, 0xc0, 8, 0xf0, 10, 0xf0)},
	{"response", ResponseSize, reputs[Response](ParseResponse), noneReserved},
	{"response_data", ResponseDataSize, reputs[ResponseData](ParseResponseData), mask(4, 0xff, 10, 0xc0)},
	{"response_data_small", ResponseDataSmallSize, reputs[ResponseDataSmall](ParseResponseDataSmall), mask(2, 0xc0, 4, 0xff)},
	{"atomic", AtomicSize, reputs[Atomic](ParseAtomic), mask(3, 0xff)},
	{"compare_swap", CompareSwapSize, reputs[CompareSwap](ParseCompareSwap), mask(3, 0xff)},
	{"rendezvous", RendezvousSize, reputs[Rendezvous](ParseRendezvous), noneReserved},
	{"uud", UUDSize, func(b, out []byte) (int, Reason) {
		next, why := ParseUUD(b)
		if why != OK {
			return 0, why
		}
		return PutUUD(out, next), OK
	}, mask(1, 0x7f, 2, 0xff, 3, 0xff)},
}

// checkCodec holds what must be true of any bytes: a short slice is refused as short, and what is accepted
// is written again bit for bit, reserved bits apart, which come out as 0 and do not change what is read. b has exactly the
// capacity it shows, so that a reader that looks beyond it panics.
func checkCodec(t *testing.T, c *codec, b []byte) {
	b = append(make([]byte, 0, len(b)), b...)
	b = b[:len(b):len(b)]
	var first, second [64]byte
	n, why := c.reput(b, first[:])
	if len(b) < c.size {
		require.Equal(t, Short, why, c.name)
	}
	if why != OK {
		return
	}
	free := c.reserved(b)
	for i := range n {
		if (b[i]^first[i])&^free[i] != 0 {
			t.Fatalf("%s: byte %d of %x became %x", c.name, i, b[:n], first[:n])
		}
	}
	m, why := c.reput(first[:n], second[:])
	if why != OK || !bytes.Equal(first[:n], second[:m]) {
		t.Fatalf("%s: %x, written as %x, is then %v %x", c.name, b[:n], first[:n], why, second[:m])
	}
}

// seeds are headers of every kind, beside those of captures.
var seeds = []string{
	"118cffff00123456010100000 10b00010000abcd00010002000000000000100000000007000000000000 2a00000000000000000000000010",
	"6888ffff0012346001010202000000400 10b00400000abcd0001002a0000000000005000",
	"3a000000001234560202010100010001 0000abcd00000010",
	"42200005001234580202010100080001000000000000001e00100000001800040001000200 00abcd00000600",
	"40000000001234580202010110080001000000000000000000004000000000 00",
	"4008beef001234580202010100080001000000000000001e0004000000180004",
	"4a000000001234580202010100080001000000000000001ee00000000000000100000000000000020001000200 00abcd00000600",
	"60001a00001234580202010100000000e0000000000000010000000000000002",
	"50000d000012345b0202010100123459",
	"5c8c000000123456010100000102000000000001",
	"5b00beef000000000101020200123459",
	"21800000000 00a01", "31000000", "0d000123c0000201000100000000002a", "0900012300010000000000 2a",
	"020102010000abcd0004000800000008000 00000", "020100080000abcd00123460", "02070000", "ffffffffffffffffffffffffffffffffffffffffffffffff",
	"0d07020000000000000000004746454443424140000000000000000011111111 22222222",
}

// FuzzParsers gives any bytes to any reader.
func FuzzParsers(f *testing.F) {
	add := func(b []byte) { // to those that accept it, and to one that may not
		var out [64]byte
		for i := range codecs {
			if _, why := codecs[i].reput(b, out[:]); why == OK || i == len(b)%len(codecs) {
				f.Add(uint8(i), b[:min(len(b), codecs[i].size+8)])
			}
		}
	}
	for _, s := range seeds {
		add(unhex(f, s))
	}
	kinds := map[[2]Type]bool{}
	packets(f, func(b []byte) {
		p, _ := ParsePacket(b, MostFirst)
		if kind := [2]Type{p.Type, Type(p.Next)}; !kinds[kind] {
			kinds[kind] = true
			add(b)
			add(b[p.SES:])
		}
	})
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		checkCodec(t, &codecs[int(which)%len(codecs)], b)
	})
}

func TestEveryLengthOfEverySeed(t *testing.T) {
	for _, s := range seeds {
		whole := unhex(t, s)
		for n := range len(whole) + 1 {
			for i := range codecs {
				checkCodec(t, &codecs[i], whole[:n])
			}
		}
	}
}
