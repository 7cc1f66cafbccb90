package encap

import (
	"fmt"
	"strconv"
)

// A DSCP is the upper six bits of the IPv4 type of service and of the IPv6 traffic class (RFC 2474).
type DSCP uint8

// Code points used as defaults, and the one that no packet carries.
const (
	CS0    DSCP = 0
	EF     DSCP = 46
	NoDSCP DSCP = 64 // in Rules: this category has no code point
)

// An ECN is the lower two bits of the traffic class (RFC 3168).
type ECN uint8

// Values of the ECN field. UET sends data as ECT0 and control as NotECT; switches change ECT to CE.
const (
	NotECT ECN = iota
	ECT1
	ECT0
	CE
)

var ecnNames = [4]string{"not-ECT", "ECT(1)", "ECT(0)", "CE"}

func (e ECN) String() string { return ecnNames[e&3] }

// A Class is the IPv4 type of service or IPv6 traffic class: DSCP and ECN.
type Class uint8

// MakeClass joins the two fields.
func MakeClass(d DSCP, e ECN) Class { return Class(d)<<2 | Class(e&3) }

// DSCP returns the upper six bits.
func (c Class) DSCP() DSCP { return DSCP(c >> 2) }

// ECN returns the lower two bits.
func (c Class) ECN() ECN { return ECN(c & 3) }

// A Category is what the fabric may do, or has done, with a packet.
type Category uint8

// Categories.
const (
	Uncategorized  Category = iota // a code point that the rules do not name
	Trimmable                      // requests with data: a congested switch may cut them
	Trimmed                        // cut in the fabric
	TrimmedLastHop                 // cut at the switch facing the destination: no fault of the path
	Control                        // ACK, NACK, control packets: never cut
)

var categoryNames = [...]string{"uncategorized", "trimmable", "trimmed", "trimmed at last hop", "control"}

func (c Category) String() string {
	if int(c) < len(categoryNames) {
		return categoryNames[c]
	}
	return strconv.Itoa(int(c))
}

// Rules give each category its code point. They are configured alike on all endpoints and switches of
// a fabric; nothing in a packet tells them. A field holding NoDSCP names none.
type Rules struct {
	Trimmable      DSCP
	Trimmed        DSCP
	TrimmedLastHop DSCP
	Control        DSCP
}

// DefaultRules are those of the captures: data 0, control 46, and no trimming.
var DefaultRules = Rules{Trimmable: CS0, Trimmed: NoDSCP, TrimmedLastHop: NoDSCP, Control: EF}

// Category says what a code point means. Where two categories share one, the uncut one wins.
func (r *Rules) Category(d DSCP) Category {
	switch d {
	case NoDSCP:
		return Uncategorized
	case r.Trimmable:
		return Trimmable
	case r.Control:
		return Control
	case r.Trimmed:
		return Trimmed
	case r.TrimmedLastHop:
		return TrimmedLastHop
	}
	return Uncategorized
}

// IsTrimmed tells whether the code point says that a switch has cut the packet.
func (r *Rules) IsTrimmed(d DSCP) bool {
	c := r.Category(d)
	return c == Trimmed || c == TrimmedLastHop
}

// Data returns the class in which requests with data are sent: trimmable and ECN-capable.
func (r *Rules) Data() Class { return MakeClass(r.Trimmable, ECT0) }

// Answers returns the class of ACK, NACK and control packets, which are not ECN-capable.
func (r *Rules) Answers() Class { return MakeClass(r.Control, NotECT) }

// Validate names the first code point that is out of range, or that makes cut packets look like whole ones.
func (r *Rules) Validate() error {
	for _, f := range []struct {
		name  string
		value DSCP
	}{{"trimmable", r.Trimmable}, {"trimmed", r.Trimmed}, {"trimmed at last hop", r.TrimmedLastHop}, {"control", r.Control}} {
		if f.value > NoDSCP {
			return fmt.Errorf("DSCP of category %s is %d; expected 0 to 63", f.name, f.value)
		}
	}
	for _, cut := range []DSCP{r.Trimmed, r.TrimmedLastHop} {
		if cut != NoDSCP && (cut == r.Trimmable || cut == r.Control) {
			return fmt.Errorf("DSCP %d names both cut and whole packets", cut)
		}
	}
	return nil
}
