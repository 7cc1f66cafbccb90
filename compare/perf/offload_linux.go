package perf

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of the ethtool interface (linux/ethtool.h).
const (
	ethtoolGetStrings  = 0x1b
	ethtoolGetSetInfo  = 0x37
	ethtoolSetFeatures = 0x3b
	featureStrings     = 4 // ETH_SS_FEATURES
	stringLength       = 32
	mostFeatures       = 256
)

// cutsBursts are features of an interface that let a burst or a long segment pass as one.
var cutsBursts = []string{"tx-udp-segmentation", "tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-tcp6-segmentation"}

// joins is the feature by which what arrives is joined before the sockets see it.
const joins = "rx-gro"

// offload makes an interface of a network namespace an end of a cable, as "ethtool -K eth0 tx-udp-segmentation off tso off"
// does, and "gro on".
func offload(namespace, link string, kind Cable) error {
	features := make(map[string]bool)
	if kind != Whole {
		for _, name := range cutsBursts {
			features[name] = false
		}
	}
	if kind == NIC {
		features[joins] = true
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, for it is in another namespace
		result <- inNamespace(namespace, func() error { return setFeatures(link, features) })
	}()
	if err := <-result; err != nil {
		return fmt.Errorf("offloads of %s in %s: %w", link, namespace, err)
	}
	return nil
}

func inNamespace(name string, do func() error) error {
	fd, err := unix.Open("/run/netns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return err
	}
	return do()
}

// setFeatures turns features on and off, of those that the interface has.
func setFeatures(link string, features map[string]bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var count struct {
		command, _ uint32
		sets       uint64
		n          uint32
	}
	count.command, count.sets = ethtoolGetSetInfo, 1<<featureStrings
	if err := ethtool(fd, link, unsafe.Pointer(&count)); err != nil {
		return err
	}
	var all struct {
		command, set, n uint32
		text            [mostFeatures * stringLength]byte
	}
	if all.command, all.set, all.n = ethtoolGetStrings, featureStrings, count.n; count.n > mostFeatures {
		return fmt.Errorf("%d features; expected %d at most", count.n, mostFeatures)
	}
	if err := ethtool(fd, link, unsafe.Pointer(&all)); err != nil {
		return err
	}
	var wanted struct {
		command, blocks uint32
		features        [mostFeatures / 32]struct{ valid, requested uint32 }
	}
	wanted.command, wanted.blocks = ethtoolSetFeatures, (count.n+31)/32
	for i := range count.n {
		text, _, _ := strings.Cut(string(all.text[i*stringLength:(i+1)*stringLength]), "\x00")
		if on, named := features[text]; named {
			wanted.features[i/32].valid |= 1 << (i % 32)
			if on {
				wanted.features[i/32].requested |= 1 << (i % 32)
			}
		}
	}
	return ethtool(fd, link, unsafe.Pointer(&wanted))
}

// ethtool makes one request, whose structure is changed in place.
func ethtool(fd int, link string, request unsafe.Pointer) error {
	var r struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(r.name[:unix.IFNAMSIZ-1], link)
	r.data = request
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
	if errno != 0 {
		return errno
	}
	return nil
}
