package wireshark_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

var update = flag.Bool("update", false, "write uet_codes.lua anew")

// codePoints are the tables of names that the dissector shares with package wire.
var codePoints = []struct {
	table string
	codes int // all that the field can hold
	name  func(code int) string
}{
	{"type", 32, func(c int) string { return wire.Type(c).String() }},
	{"next", 16, func(c int) string { return wire.Next(c).String() }},
	{"control", 16, func(c int) string { return wire.ControlType(c).String() }},
	{"cc", 16, func(c int) string { return wire.CCType(c).String() }},
	{"nack", 256, func(c int) string { return wire.NackCode(c).String() }},
	{"opcode", 64, func(c int) string { return wire.Opcode(c).String() }},
	{"response", 64, func(c int) string { return wire.ResponseOp(c).String() }},
	{"list", 4, func(c int) string { return wire.ResponseList(c).String() }},
	{"code", 64, func(c int) string { return wire.ReturnCode(c).String() }},
	{"atomic", 256, func(c int) string { return wire.AtomicOp(c).String() }},
	{"datatype", 256, func(c int) string { return wire.DataType(c).String() }},
}

// luaCodes writes the names, the sizes and what is fatal as a Lua table.
func luaCodes() []byte {
	var b bytes.Buffer
	b.WriteString("-- Code points of package transport/wire, written by `go test ./transport/wire/wireshark -update`. Do not edit.\nreturn {\n")
	for _, p := range codePoints {
		fmt.Fprintf(&b, "  %s = {\n", p.table)
		for c := range p.codes {
			if name := p.name(c); name != strconv.Itoa(c) {
				fmt.Fprintf(&b, "    [%d] = %q,\n", c, name)
			}
		}
		b.WriteString("  },\n")
	}
	sizes := func(table string, codes int, size func(int) int) {
		fmt.Fprintf(&b, "  %s = {", table)
		for c := range codes {
			if s := size(c); s != 0 {
				fmt.Fprintf(&b, " [%d] = %d,", c, s)
			}
		}
		b.WriteString(" },\n")
	}
	sizes("pds_size", 32, func(c int) int { return wire.Type(c).Size() })
	sizes("ses_size", 16, func(c int) int { return wire.Next(c).Size() })
	b.WriteString("  fatal_nack = {")
	for c := range 256 {
		if wire.NackCode(c).Fatal() {
			fmt.Fprintf(&b, " [%d] = true,", c)
		}
	}
	b.WriteString(" },\n}\n")
	return b.Bytes()
}

func TestCodesAreThoseOfWire(t *testing.T) {
	want := luaCodes()
	if *update {
		require.NoError(t, os.WriteFile("uet_codes.lua", want, 0o644))
	}
	got, err := os.ReadFile("uet_codes.lua")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go test ./transport/wire/wireshark -update")
}
