//go:build !linux

package live

import (
	"errors"
	"os"
)

func openTUN(string, int) (*os.File, error) {
	return nil, errors.New("TUN devices with segments are Linux's")
}

func (w *vectorWriter) try(uintptr) bool { return true }
