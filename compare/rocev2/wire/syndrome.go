package wire

import "github.com/weft-transport/weft/transport/instant"

// A Syndrome is the first byte of the AETH: what the responder answers.
//
//	bits 7-5   000 ACK, low bits: credit code    001 RNR NAK, low bits: timer code
//	           010 reserved                      011 NAK, low bits: reason
type Syndrome uint8

// Syndromes.
const (
	AckUnlimited      Syndrome = 0x1F // ACK; the responder does not count credits
	NakSequence       Syndrome = 0x60 // PSN sequence error
	NakInvalidRequest Syndrome = 0x61
	NakRemoteAccess   Syndrome = 0x62
	NakRemoteOperate  Syndrome = 0x63
	NakInvalidRD      Syndrome = 0x64
	// NakSelective is not in the standard: it is NakSequence with a Selective header behind the AETH. Its
	// code is reserved there, so a standard requester would refuse it rather than misread it.
	NakSelective Syndrome = 0x7F
)

const (
	classMask = 0xE0
	classACK  = 0x00
	classRNR  = 0x20
	classNAK  = 0x60
	codeMask  = 0x1F
)

// IsACK tells whether s acknowledges.
func (s Syndrome) IsACK() bool { return s&classMask == classACK }

// IsRNR tells whether s says "receiver not ready".
func (s Syndrome) IsRNR() bool { return s&classMask == classRNR }

// IsNAK tells whether s refuses: a sequence error, or one that ends the queue pair.
func (s Syndrome) IsNAK() bool { return s&classMask == classNAK }

// IsFatal tells whether s ends the queue pair: a NAK that no retry can mend.
func (s Syndrome) IsFatal() bool { return s.IsNAK() && s != NakSequence && s != NakSelective }

func (s Syndrome) String() string {
	switch {
	case s.IsACK():
		return "ACK"
	case s.IsRNR():
		return "RNR NAK"
	}
	switch s {
	case NakSequence:
		return "NAK PSN sequence error"
	case NakInvalidRequest:
		return "NAK invalid request"
	case NakRemoteAccess:
		return "NAK remote access error"
	case NakRemoteOperate:
		return "NAK remote operational error"
	case NakInvalidRD:
		return "NAK invalid RD request"
	case NakSelective:
		return "NAK selective"
	}
	return "reserved syndrome"
}

// credits maps the credit code of an ACK to message credits (IBTA volume 1, section 9.7.7.2).
var credits = [31]uint16{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768}

// Credits returns how many more messages the responder has room for; ok is false when it does not
// count (code 31) or s is no ACK.
func (s Syndrome) Credits() (n int, ok bool) {
	if !s.IsACK() || s == AckUnlimited {
		return 0, false
	}
	return int(credits[s&codeMask]), true
}

// AckCredits returns the ACK syndrome that promises as much of n as a code can say: the largest
// code that does not exceed it.
func AckCredits(n int) Syndrome {
	code := 0
	for code+1 < len(credits) && int(credits[code+1]) <= n {
		code++
	}
	return Syndrome(code)
}

// rnrMicroseconds maps the timer code of an RNR NAK to its wait (IBTA volume 1, section 9.7.5.2.8).
var rnrMicroseconds = [32]uint32{655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
	2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520}

// RNRWait returns how long a requester waits after an RNR NAK; 0 if s is none.
func (s Syndrome) RNRWait() instant.Time {
	if !s.IsRNR() {
		return 0
	}
	return instant.Time(rnrMicroseconds[s&codeMask]) * instant.Microsecond
}

// RNR returns the RNR NAK with the given timer code, 0 to 31.
func RNR(code uint8) Syndrome { return classRNR | Syndrome(code)&codeMask }

// AckTimeout returns the local ACK timeout of code n, 4.096 us times 2^n: 67.1 ms for 14. Code 0
// means no timeout, and so does a code that five bits cannot hold.
func AckTimeout(n uint8) instant.Time {
	if n == 0 || n > 31 {
		return instant.Never
	}
	return 4096 * instant.Nanosecond << n
}
