package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unicode/utf8"
)

// Limits of what people write by hand. The YAML parser's time and memory grow with the square of the depth.
const (
	maxText    = 4 << 20 // bytes of a file
	maxNesting = 256     // brackets and dashes that are open at once
	maxQuoted  = 80      // characters of a wrong value that a message repeats
)

// ReadText reads a scenario or a plan: a file, or a pipe that has a writer. A pipe without one is empty rather
// than waited for.
func ReadText(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxText+1))
	if err == nil && len(data) > maxText {
		err = fmt.Errorf("it is larger than %d bytes", maxText)
	}
	return data, err
}

// CheckText refuses what is no text, or too much for the YAML parser, and takes off a byte order mark.
func CheckText(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > maxText:
		return nil, fmt.Errorf("is larger than %d bytes", maxText)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("is not a text in UTF-8")
	case nesting(data) > maxNesting:
		return nil, errors.New("nested too deeply")
	}
	return data, nil
}

// nesting bounds from above how deep lists and mappings on one line lie in each other. Brackets in texts count
// too, which takes more of them than anybody writes.
func nesting(data []byte) (deepest int) {
	open, dashes := 0, 0
	for i, c := range data {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		case '-', '?':
			if i+1 < len(data) && data[i+1] == ' ' {
				dashes++
			}
		case '\n', '\r':
			dashes = 0
		}
		deepest = max(deepest, open, dashes)
	}
	return deepest
}

// Quote repeats a value in a message, or its beginning.
func Quote(text string) string {
	runes := 0
	for i := range text {
		if runes++; runes > maxQuoted {
			return fmt.Sprintf("%q and so on", text[:i])
		}
	}
	return fmt.Sprintf("%q", text)
}
