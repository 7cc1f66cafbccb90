// Package lines reads the line-oriented text formats of network simulators and reports what is
// wrong with them as "file:line: what is wrong, what was expected".
package lines

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// MaxLine bounds the length of a line, in bytes.
const MaxLine = 1 << 20

// A Reader hands out the lines of a file as fields. Blank lines and comments (# as the first
// character that is not blank) are left out; fields are separated by any blanks; a carriage return
// ends a line like a newline does.
type Reader struct {
	File   string
	Line   int      // number of the line that Fields is from, from 1; 0 before the first
	Fields []string // of the current line, never empty
	scan   *bufio.Scanner
	err    error
}

// New reads from r; file names it in errors.
func New(r io.Reader, file string) *Reader {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 64<<10), MaxLine)
	return &Reader{File: file, scan: scan}
}

// Next moves to the next line with fields and tells whether there is one.
func (r *Reader) Next() bool {
	for r.err == nil && r.scan.Scan() {
		r.Line++
		text := r.scan.Text()
		if r.Line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		r.Fields = strings.Fields(text)
		if len(r.Fields) > 0 && r.Fields[0][0] != '#' {
			return true
		}
	}
	r.Fields = nil
	return false
}

// Err returns why Next stopped before the end of the file, nil at the end.
func (r *Reader) Err() error {
	if r.err == nil && r.scan.Err() != nil {
		err := r.scan.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the line is longer than %d bytes", MaxLine)
		}
		r.err = r.at(r.Line+1, err.Error())
	}
	return r.err
}

// Errorf makes an error about the current line.
func (r *Reader) Errorf(format string, args ...any) error {
	return r.at(r.Line, fmt.Sprintf(format, args...))
}

func (r *Reader) at(line int, text string) error {
	if line == 0 {
		return fmt.Errorf("%s: %s", r.File, text)
	}
	return fmt.Errorf("%s:%d: %s", r.File, line, text)
}

// Whole reads a whole number between bounds; what names it in the error.
func (r *Reader) Whole(text, what string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, r.Errorf("%s: %s is not a whole number", what, Quote(text))
	}
	if err != nil || n < low || n > high {
		return 0, r.Errorf("%s: %s is outside %d to %d", what, text, low, high)
	}
	return n, nil
}

// Decimal reads a number between bounds.
func (r *Reader) Decimal(text, what string, low, high float64) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if (err != nil && !errors.Is(err, strconv.ErrRange)) || math.IsNaN(f) {
		return 0, r.Errorf("%s: %s is not a number", what, Quote(text))
	}
	if f < low || f > high {
		return 0, r.Errorf("%s: %s is outside %g to %g", what, text, low, high)
	}
	return f, nil
}

// Quote quotes what stands in a file, shortened, so that an error stays one line.
func Quote(text string) string {
	if len(text) > 40 {
		text = text[:40] + "..."
	}
	return strconv.Quote(text)
}
