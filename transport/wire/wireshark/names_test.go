package wireshark_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// installed returns the home of a user who did what README.md says.
func installed(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?m)^    (mkdir .* && cp .*)$`).FindSubmatch(readme)
	require.NotNil(t, command, "README.md says how to install")
	home := t.TempDir()
	run := exec.CommandContext(t.Context(), "sh", "-c", string(command[1]))
	run.Dir, run.Env = "../../..", append(os.Environ(), "HOME="+home)
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	return home
}

// registered returns the names of all fields that Wireshark knows below a prefix.
func registered(t *testing.T, prefix string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for line := range strings.Lines(tsharkOf(t, installed(t), "-G", "fields")) {
		columns := strings.Split(line, "\t") // F, description, name, type, protocol, base, mask, blurb
		if columns[0] == "F" && strings.HasPrefix(columns[2], prefix) {
			require.NotEmpty(t, columns[1], columns[2])
			names[columns[2]] = true
		}
	}
	return names
}

// TestNames looks up every field that README.md and the tests name, and all of the dissector's fields in README.md.
func TestNames(t *testing.T) {
	requireTshark(t)
	known := registered(t, "uet.")
	require.Greater(t, len(known), 150)
	_, compared := columnsOf(wholeColumns, pdsColumns, sesColumns)
	for _, name := range compared {
		require.True(t, known[name], name)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	group := func(name string) string { return name[:strings.LastIndex(name, ".")] }
	groups := map[string]bool{}
	for name := range known {
		groups[group(name)] = true
	}
	told := map[string]bool{}
	for _, name := range regexp.MustCompile(`\buet(\.[a-z0-9_]+)+`).FindAllString(string(readme), -1) {
		told[name] = true
		preference := regexp.MustCompile(`^uet\.(ports|protocol|crc|check|first|trimmed|relative)$`).MatchString(name)
		require.True(t, known[name] || groups[name] || preference || name == "uet.lua", "README.md names %s, which Wireshark does not know", name)
	}
	for name := range known {
		require.True(t, told[name] || told[group(name)], "README.md names neither %s nor %s", name, group(name))
	}
}

// TestAnotherDissector lets somebody else have the name first, as Wireshark itself will from 5.0 on.
func TestAnotherDissector(t *testing.T) {
	requireTshark(t)
	other := filepath.Join(t.TempDir(), "other.lua")
	require.NoError(t, os.WriteFile(other, []byte("local p = Proto('uet', 'Another')\nfunction p.dissector() return 0 end\n"), 0o600))
	ours, err := filepath.Abs("uet.lua")
	require.NoError(t, err)
	both := []string{"-X", "lua_script:" + other, "-X", "lua_script:" + ours, "-r", "../testdata/08-rud-read-small-in-ack.pcap", "-T", "fields", "-e", "weft_uet.pds.type"}
	require.Equal(t, "\n\n\n\n\n", plainTshark(t, both...), "we step aside")
	require.Equal(t, "2\n7\n11\n11\n7\n", plainTshark(t, append(both, "-o", "weft_uet.protocol:253")...), "and come when asked")
}

// TestCodePointsAreShown asks Wireshark for the words of every code, which are those of package wire.
func TestCodePointsAreShown(t *testing.T) {
	requireTshark(t)
	fields := map[string]string{"type": "pds.type", "next": "pds.next", "control": "pds.ctl_type", "cc": "pds.cc_type", "nack": "pds.nack.code", "opcode": "ses.opcode",
		"response": "ses.rsp.opcode", "list": "ses.rsp.list", "code": "ses.rsp.return_code", "atomic": "ses.atomic.opcode", "datatype": "ses.atomic.datatype"}
	shown := map[string]string{}
	for line := range strings.Lines(tsharkOf(t, installed(t), "-G", "values")) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // V, field, value, word
		if columns[0] == "V" && strings.HasPrefix(columns[1], "uet.") {
			shown[columns[1]+" "+plain(columns[2])] = columns[3]
		}
	}
	for _, p := range codePoints {
		for c := range p.codes {
			want := p.name(c)
			if want == strconv.Itoa(c) {
				want = "reserved"
			}
			require.Equal(t, want, shown["uet."+fields[p.table]+" "+strconv.Itoa(c)], "%s %d", p.table, c)
		}
	}
}
