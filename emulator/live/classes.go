package live

import (
	"fmt"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
)

// A ClassTable says by DSCP, 0 to 63, in which class packets of programs travel: an index of Config.Fabric.Classes.
type ClassTable [64]core.Class

// expedited is the code point of what must not wait (RFC 3246).
const expedited = 46

// DefaultTable is what udp.Config.DSCP is by default, seen from the network: packets with 46 (EF) are in class 1 where
// there is one, all others in class 0. Of more classes than two, the others are for tables that name them.
func DefaultTable(classes int) (t ClassTable) {
	if classes > 1 {
		t[expedited] = 1
	}
	return t
}

// check refuses a table with classes that are not there.
func (t *ClassTable) check(classes []emulator.Class) error {
	for dscp, c := range t {
		if int(c) >= len(classes) {
			return fmt.Errorf("live: Config.ClassOf: DSCP %d is in class %d; expected 0 to %d, an index of Config.Fabric.Classes", dscp, c, len(classes)-1)
		}
	}
	return nil
}

// checkDSCP refuses what is no code point.
func checkDSCP(d uint8) error {
	if int(d) >= len(ClassTable{}) {
		return fmt.Errorf("live: a DSCP of %d; expected 0 to %d", d, len(ClassTable{})-1)
	}
	return nil
}
