package capture

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Bounds on what a file may claim. libpcap and Wireshark refuse frames beyond 256 KiB on the link types
// that are read here.
const (
	MaxFrame      = 1 << 18 // bytes of a frame that were captured
	maxBlock      = 1 << 20 // bytes of a pcapng block that is read, not skipped: a frame and its options
	maxInterfaces = 1 << 16 // of a pcapng section
	maxName       = 256     // bytes of a name of an interface that are kept
	maxComment    = 1 << 12 // bytes of the comment on a section that are kept
)

// An Interface is where frames were captured.
type Interface struct {
	Index       int    // in its section of the file, from 0; a pcap file has one
	Name        string // "" if the file does not tell
	Description string
	Link        LinkType
	SnapLength  uint32 // bytes at most kept of each frame; 0: all
	Decimals    int    // of a second that stamps have: 6 for microseconds, at most 9

	clock clock
}

// A Frame is one captured frame.
type Frame struct {
	Number    int64     // in the file, from 1
	Time      time.Time // to the nanosecond, UTC; zero where the file has none
	Interface *Interface
	Length    int    // bytes on the wire; more than len(Data) if the capture cut it
	Data      []byte // valid until the next call of Next
	Comments  []string
	Direction Direction
	Packet    uint64 // number that is the same wherever the packet was captured, if HasPacket
	HasPacket bool
}

// Snapped tells whether the capture kept a part of the frame only.
func (f *Frame) Snapped() bool { return f.Length > len(f.Data) }

// A BrokenError says where and why a file cannot be read on. All frames before that place have been
// returned.
type BrokenError struct {
	Offset int64 // bytes into the file (into what it unpacks to, if it is compressed)
	Frames int64 // read before
	Why    string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("broken at byte %d, behind frame %d: %s", e.Offset, e.Frames, e.Why)
}

// ErrNotCapture is the error for files that do not begin as captures do.
var ErrNotCapture = errors.New("not a capture; expected pcap or pcapng")

// A Reader reads frames in the order of the file. Packed files (gzip) are unpacked.
type Reader struct {
	in     *bufio.Reader
	offset int64 // of the next byte to read
	frames int64

	order      binary.ByteOrder
	next       func(*Reader, *Frame) error
	format     string
	interfaces []*Interface
	block      []byte // the record or block under way; reused
	drops      uint64

	application, comment string
}

// NewReader reads the head of a capture.
func NewReader(file io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(file, 1<<16)}
	if head, _ := r.in.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		unpacked, err := gzip.NewReader(r.in)
		if err != nil {
			return nil, fmt.Errorf("packed with gzip, but: %w", err)
		}
		r.in = bufio.NewReaderSize(unpacked, 1<<16)
	}
	head, err := r.in.Peek(4)
	if len(head) < 4 {
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(head) == 0 {
			return nil, errors.New("empty; expected pcap or pcapng")
		}
		return nil, ErrNotCapture
	}
	if binary.LittleEndian.Uint32(head) == blockSection {
		r.format, r.next = "pcapng", (*Reader).nextBlock
		return r, r.openSection()
	}
	return r, r.openPcap()
}

// Format returns "pcap" or "pcapng".
func (r *Reader) Format() string { return r.format }

// Origin returns the program that wrote a pcapng file and its comment on it, as the section read last tells; "" if it
// does not.
func (r *Reader) Origin() (application, comment string) { return r.application, r.comment }

// Interfaces returns those that the file has named so far; the caller must not change them.
func (r *Reader) Interfaces() []*Interface { return r.interfaces }

// Dropped returns how many packets the capture says it has lost itself, so far.
func (r *Reader) Dropped() uint64 { return r.drops }

// Idle tells whether nothing of the file is waiting to be read: the next call of Next may have to wait.
func (r *Reader) Idle() bool { return r.in.Buffered() == 0 }

// Next reads the next frame into f. It returns io.EOF behind the last one, a *BrokenError where the
// file is broken, or the error of the file itself.
func (r *Reader) Next(f *Frame) error {
	err := r.next(r, f)
	if err == nil {
		r.frames++
		f.Number = r.frames
	}
	return err
}

func (r *Reader) broken(at int64, format string, args ...any) error {
	return &BrokenError{Offset: at, Frames: r.frames, Why: fmt.Sprintf(format, args...)}
}

// fill reads the next n bytes into r.block behind what it holds. Room grows with what has come, not with
// what was claimed. what names them in the error.
func (r *Reader) fill(n int, start int64, what string) error {
	const step = 1 << 16
	for n > 0 {
		part, have := min(n, step), len(r.block)
		if cap(r.block)-have < part {
			r.block = append(r.block, make([]byte, part)...)
		}
		r.block = r.block[:have+part]
		got, err := io.ReadFull(r.in, r.block[have:])
		r.offset += int64(got)
		if err != nil {
			return r.ended(err, start, fmt.Sprintf("%s ends after %d of %d bytes", what, have+got, have+n))
		}
		n -= part
	}
	return nil
}

// ended turns an error of the file into what is wrong with the capture.
func (r *Reader) ended(err error, start int64, what string) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return r.broken(start, "the file is cut: %s", what)
	}
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return r.broken(start, "%v", err)
	}
	return fmt.Errorf("at byte %d: %w", r.offset, err)
}

// atEnd tells whether the file is over.
func (r *Reader) atEnd() bool {
	_, err := r.in.Peek(1)
	return err == io.EOF
}
