package campaign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/param"
)

// classWords says how the switches of a scenario treat a protocol's packets: "PFC, ECN 400 KB-1.6 MB
// p 0.2, shared buffer alpha 1/8". Protocols with the same settings have the same words, and what differs
// shows in them.
func classWords(e *scenario.Entry, f *scenario.Fabric) string {
	c := classText{e.Class}
	words := []string{c.overflow(), c.marking(), c.sharing(f.Buffer.Alpha)}
	words = append(words, c.lossless()...)
	words = append(words, c.trimming()...)
	words = append(words, c.others()...)
	if routing := e.Routing(f); routing != "ecmp" {
		words = append(words, routing+" routing")
	}
	return strings.Join(nonempty(words), ", ")
}

func nonempty(words []string) []string {
	var kept []string
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

// A classText puts settings of a class into words.
type classText struct{ param.Values }

// overflow is what happens to packets that do not fit.
func (c classText) overflow() string {
	what := "tail drop"
	switch {
	case c.Word("flowControl") == "pfc":
		what = "PFC"
	case c.Word("flowControl") == "credit":
		what = "link credits"
	case c.Bool("trim"):
		what = "trimming"
	}
	if !c.isZero("queue") {
		what += " at " + c.size("queue")
	}
	if !c.isZero("lastHopQueue") {
		what += " (" + c.size("lastHopQueue") + " before hosts)"
	}
	return what
}

// marking is where ECN marks begin and where every packet has one.
func (c classText) marking() string {
	low, high := c.size("ecnMin"), c.size("ecnMax")
	switch {
	case c.isZero("ecnMax"):
		return "no ECN"
	case low == high:
		return "ECN from " + low
	case c.isZero("ecnMin"):
		low = "0"
	}
	if number, unit, _ := strings.Cut(low, " "); strings.HasSuffix(high, " "+unit) {
		low = number
	}
	text := "ECN " + low + "-" + high
	if p := c.Float("ecnP"); p != 1 {
		text += " p " + number(p)
	}
	return text
}

// sharing is the dynamic threshold, where it and no fixed limit is what bounds a queue, or where it is
// the class's own.
func (c classText) sharing(usual float64) string {
	alpha := c.Float("alpha")
	if alpha == 0 {
		if !c.isZero("queue") {
			return ""
		}
		alpha = usual
	}
	return "shared buffer alpha " + number(alpha)
}

// lossless are the thresholds of PFC that were given.
func (c classText) lossless() []string {
	if c.Word("flowControl") != "pfc" {
		return nil
	}
	var words []string
	for _, name := range []string{"xoff", "xon"} {
		if !c.isZero(name) {
			words = append(words, strings.ToUpper(name)+" "+c.size(name))
		}
	}
	if h := c.Word("headroom"); h != "auto" {
		words = append(words, "headroom "+sizeWords(h))
	}
	return words
}

// trimming is what is unusual about it.
func (c classText) trimming() []string {
	if !c.Bool("trim") {
		return nil
	}
	var words []string
	if c.unusual("trimBytes") {
		words = append(words, "trimmed to "+c.size("trimBytes"))
	}
	if c.unusual("trimTail") {
		words = append(words, "only arriving packets trimmed")
	}
	if c.unusual("trimShare") {
		words = append(words, "trimmed packets up to "+number(c.Float("trimShare"))+" of a link")
	}
	return words
}

// inWords are the settings that the words above speak of.
var inWords = []string{"queue", "lastHopQueue", "alpha", "ecnMin", "ecnMax", "ecnP", "trim", "trimBytes", "trimTail", "trimShare", "flowControl", "xoff", "xon", "headroom", "routing"}

// others are further settings that are not as declared.
func (c classText) others() []string {
	var words []string
	for _, p := range protocol.ClassParams {
		if !slices.Contains(inWords, p.Name) && c.unusual(p.Name) {
			words = append(words, p.Name+" "+c.Word(p.Name))
		}
	}
	return words
}

// unusual tells whether a setting is not its declared default.
func (c classText) unusual(name string) bool {
	usual, err := param.Resolve(protocol.ClassParams, nil)
	if err != nil {
		return false
	}
	for _, p := range protocol.ClassParams {
		if p.Name != name {
			continue
		}
		switch p.Kind {
		case param.Fraction, param.Float:
			return c.Float(name) != usual.Float(name)
		case param.Bytes:
			return c.size(name) != (classText{usual}).size(name)
		}
	}
	return c.Word(name) != usual.Word(name)
}

func (c classText) isZero(name string) bool {
	s, err := param.ParseSize(c.Word(name))
	return err == nil && s == param.Size{}
}

func (c classText) size(name string) string { return sizeWords(c.Word(name)) }

// sizeWords writes a size exactly: 0.2 BDP, 400 KB, 1.6 MB, 64 KiB, 1500 B.
func sizeWords(text string) string {
	s, err := param.ParseSize(text)
	if err != nil {
		return text
	}
	if s.BDP != 0 {
		return plain(s.BDP) + " BDP"
	}
	n := s.In(0)
	for _, units := range [][]byteUnit{
		{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}},
		{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}},
	} {
		smallest := units[len(units)-1].size
		for _, u := range units {
			if n >= u.size && n%smallest == 0 {
				return plain(float64(n)/float64(u.size)) + " " + u.name
			}
		}
	}
	return fmt.Sprintf("%d B", n)
}

type byteUnit struct {
	size int64
	name string
}

func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// number writes a small fraction of a power of two as 1/8, everything else as it is.
func number(x float64) string {
	if n := 1 / x; x > 0 && x < 0.5 && n <= 1024 && n == math.Trunc(n) && math.Exp2(math.Trunc(math.Log2(n)+0.5)) == n {
		return "1/" + plain(n)
	}
	return plain(x)
}
