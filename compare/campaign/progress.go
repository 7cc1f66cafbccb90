package campaign

import (
	"fmt"
	"io"
	"os"
	"time"
)

// A Progress prints one line that keeps changing on a terminal, or a line every few seconds elsewhere.
// The zero Progress is quiet.
type Progress struct {
	Out         io.Writer // nil: quiet
	total, done int
	begun, last time.Time
}

// Add says that n more runs are to be made. The first call starts the clock.
func (p *Progress) Add(n int) {
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
	p.total += n
}

// Step says that a run is done, and in a few words which.
func (p *Progress) Step(which string) {
	p.done++
	terminal := isTerminal(p.Out)
	if p.Out == nil || !terminal && p.done < p.total && time.Since(p.last) < 5*time.Second {
		return
	}
	p.last = time.Now()
	spent := time.Since(p.begun)
	left := time.Duration(float64(spent) / float64(p.done) * float64(p.total-p.done))
	line := fmt.Sprintf("%d of %d runs, about %v left (%s)", p.done, p.total, left.Round(time.Second), which)
	if terminal {
		fmt.Fprintf(p.Out, "\r\x1b[K%.110s", line)
		return
	}
	fmt.Fprintln(p.Out, line)
}

// End takes the line off a terminal.
func (p *Progress) End() {
	if p.Out != nil && isTerminal(p.Out) {
		fmt.Fprint(p.Out, "\r\x1b[K")
	}
}

// isTerminal tells whether a writer is a character device.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
