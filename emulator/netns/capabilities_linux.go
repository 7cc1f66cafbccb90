package netns

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// privileged tells which capability this process lacks for what it is about to do, before it does anything.
func privileged(what string) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return nil // the commands will say it
	}
	var lacks []string
	for _, c := range []struct {
		name string
		bit  uint
	}{{"CAP_NET_ADMIN", unix.CAP_NET_ADMIN}, {"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN}} {
		if have[0].Effective&(1<<c.bit) == 0 {
			lacks = append(lacks, c.name)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("netns: %s takes root, or CAP_NET_ADMIN and CAP_SYS_ADMIN; this process lacks %s (weft emulate relay takes none)", what, strings.Join(lacks, " and "))
}
