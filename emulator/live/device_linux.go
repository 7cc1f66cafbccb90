package live

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openTUN makes a device, whose packets may be trains in both directions.
func openTUN(name string, mtu int) (fd int, err error) {
	fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	ask, err := unix.NewIfreq(name)
	if err == nil {
		ask.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ask)
	}
	const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4
	if err == nil {
		err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads|unix.TUN_F_USO4)
		if errors.Is(err, unix.EINVAL) { // before Linux 6.2
			err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads)
		}
	}
	if err == nil {
		err = setMTU(name, mtu)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func setMTU(name string, mtu int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ask, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ask.SetUint32(uint32(mtu))
	return unix.IoctlIfreq(fd, unix.SIOCSIFMTU, ask)
}
