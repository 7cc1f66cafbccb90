//go:build !linux

package live

import "errors"

// A TUN is a network device of the kernel that is a host of the fabric; on Linux.
type TUN struct{}

// AttachTUN fails: devices whose packets are segments are Linux's.
func (f *Fabric) AttachTUN(int, string, int) (*TUN, error) {
	return nil, errors.New("live: TUN devices with segments are Linux's")
}

// Close does nothing.
func (t *TUN) Close() error { return nil }

func (t *TUN) receive(*parcel) bool { return false }

func (t *TUN) flush() {}

func (t *TUN) stir() {}
