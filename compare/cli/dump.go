package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/dissect"
	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

type dumpCmd struct {
	File        string  `arg:"" help:"pcap or pcapng, gzip or not; - reads standard input."`
	Verbose     bool    `short:"v" help:"Print every field, with its offset and bytes."`
	JSON        bool    `name:"json" help:"Write JSON Lines to standard output, and nothing else there."`
	Filter      *string `help:"Print only packets for which all of these hold: ${filter}." placeholder:"TERM,..."`
	Summary     bool    `help:"No packets, only totals and contexts."`
	Quiet       bool    `help:"Packets only: no heads, totals and contexts."`
	Time        string  `help:"relative to the first frame of the file, delta to the packet printed before, or utc." enum:"relative,delta,utc" default:"relative"`
	Relative    bool    `help:"Count PSNs from the first one of their flow."`
	Width       *int    `help:"Fold longer lines; 0: never. The terminal's width, if there is one, by default." placeholder:"COLUMNS"`
	IPProtocol  uint8   `name:"ip-protocol" help:"IP protocol number of UET without UDP; 0: none." default:"253"`
	UETPort     uint16  `name:"uet-port" help:"UDP port of UET." default:"4793"`
	EveryRETH   bool    `name:"every-reth" help:"All WRITE packets of RoCE v2 have a RETH, as weft's rocev2,loss=selective sends them."`
	TrimmedDSCP []uint8 `name:"trimmed-dscp" help:"DSCP of trimmed packets: anywhere, at the last hop. 64: none." default:"${trimmed}" placeholder:"N,N"`

	columns int // that a line may take; 0: any
}

// Help is the long help of the command.
func (dumpCmd) Help() string {
	return `Decodes UET (UDP port 4793, or an IP protocol of its own) and RoCE v2 (UDP port 4791) and follows PDCs and queue pairs: opens, gaps,
retransmissions, refusals, round trips, messages, closes. What it finds stands in brackets behind the packet. Times and gaps are those of the
place where the capture was taken; of interfaces, each has its own view of a context. Captures that weft took at links are followed where a packet
is seen first.

The columns: frame, time in seconds, interface (if there are several or they have names), addresses, bytes on the wire, entropy value or UDP source
port, DSCP with E0, E1 (ECT) or CE, checksum (ok; ok.l: least significant byte first; BAD; MISS: missing where others have one; none; -: cannot be
checked), type, SPDCID>DPDCID or destination queue pair, fields. Fields with their usual value 0 are left out; to=1:0:15 is job, PIDonFEP and resource index.

JSON Lines, kind first (64-bit values and keys as hexadecimal strings):
` + dissect.KeysHelp()
}

func (c *dumpCmd) Run(a *app) error {
	d := dissect.Dump{Tracker: dissect.NewTracker()}
	if err := c.prepare(a, &d); err != nil {
		return errUsage{err}
	}
	file, err := c.open()
	if err != nil {
		return errUsage{err}
	}
	defer file.Close()
	in, err := capture.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", clean(c.File), err)
	}
	out := bufio.NewWriterSize(a.stdout, 1<<16)
	err = d.Run(a.ctx, in, out)
	if err == nil || errors.Is(err, dissect.ErrInterrupted) || errors.As(err, new(*capture.BrokenError)) {
		c.finish(out, &d, err)
		if failed := out.Flush(); failed != nil {
			return failed
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", clean(c.File), err)
	}
	return nil
}

// prepare sets up what the flags ask for.
func (c *dumpCmd) prepare(a *app, d *dissect.Dump) error {
	if c.Summary && c.Quiet {
		return errors.New("--summary with --quiet leaves nothing to print")
	}
	filter, err := given("--filter", c.Filter, dissect.FilterHelp)
	if err != nil {
		return err
	}
	if filter != "" {
		if d.Filter, err = dissect.ParseFilter(filter); err != nil {
			return fmt.Errorf("--filter: %w", err)
		}
	}
	config := encap.Default
	config.Native, config.UETPort, config.DSCP = c.IPProtocol, c.UETPort, capture.Rules
	if n := len(c.TrimmedDSCP); n != 1 && n != 2 {
		return fmt.Errorf("--trimmed-dscp: %d values; expected one or two", n)
	}
	config.DSCP.Trimmed, config.DSCP.TrimmedLastHop = encap.DSCP(c.TrimmedDSCP[0]), encap.DSCP(c.TrimmedDSCP[len(c.TrimmedDSCP)-1])
	if err := config.DSCP.Validate(); err != nil {
		return fmt.Errorf("--trimmed-dscp: %w", err)
	}
	if c.IPProtocol == encap.ProtocolUDP || c.UETPort == encap.RoCEPort {
		return fmt.Errorf("--ip-protocol %d, --uet-port %d: that is where UDP and RoCE v2 are", c.IPProtocol, c.UETPort)
	}
	d.Decoder.Config = config
	if c.EveryRETH {
		d.Decoder.Dialect = roce.EveryRETH
	}
	c.columns = terminalWidth(a.stdout)
	if c.Width != nil {
		c.columns = *c.Width
	}
	if c.columns != 0 && c.columns < 40 {
		return fmt.Errorf("--width %d: expected 40 or more, or 0 for no folding", c.columns)
	}
	lines := dissect.Lines{Width: c.columns, Colour: terminalWidth(a.stdout) > 0 && os.Getenv("NO_COLOR") == "", Time: c.Time, Relative: c.Relative, NoHead: c.Quiet}
	switch {
	case c.Summary:
	case c.JSON:
		d.Printer = &dissect.JSON{}
	case c.Verbose:
		d.Printer = &dissect.Tree{Lines: lines}
	default:
		d.Printer = &lines
	}
	return nil
}

func (c *dumpCmd) open() (io.ReadCloser, error) {
	if c.File == "-" {
		return os.Stdin, nil
	}
	info, err := os.Stat(c.File)
	if err == nil && info.IsDir() {
		err = errors.New("a directory; expected a capture")
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(c.File)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clean(c.File), reason(err))
	}
	return file, nil
}

// finish prints what is known at the end of the file, or where it broke.
func (c *dumpCmd) finish(out *bufio.Writer, d *dissect.Dump, err error) {
	switch {
	case c.Quiet:
	case c.JSON:
		broken := ""
		if err != nil {
			broken = err.Error()
		}
		new(dissect.JSON).Summary(out, d, broken)
	default:
		if d.Printer != nil && d.Totals.Printed > 0 {
			fmt.Fprintln(out)
		}
		dissect.Summary(out, d, c.columns)
	}
}
