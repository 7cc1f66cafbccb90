package dissect

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLadders sets the lines beside what another decoder, made for these captures, printed of them: length, type, PSNs,
// PDCIDs, message and payload of each packet. Of what TSS encrypts, ladders know more.
func TestLadders(t *testing.T) {
	ladders, err := os.ReadFile(uetCaptures + "ladders.txt")
	require.NoError(t, err)
	row := regexp.MustCompile(`^ *(\d+) +[\d.]+ [AB]->[AB] +(\d+) (\S+)(.*)$`)
	find := func(pattern, text string) string {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
			return m[1]
		}
		return ""
	}
	var lines map[string]string
	checked := 0
	for _, line := range strings.Split(string(ladders), "\n") {
		if name, is := strings.CutPrefix(line, "## "); is {
			lines = nil
			path := uetCaptures + name + ".pcap"
			if _, err := os.Stat(path); err != nil || strings.Contains(name, "-tss-") {
				continue
			}
			text, err := dump(t, read(t, path), newDump(&Lines{NoHead: true}))
			require.NoError(t, err)
			lines = map[string]string{}
			for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
				lines[strings.Fields(l)[0]] = l
			}
		}
		m := row.FindStringSubmatch(line)
		if lines == nil || m == nil || strings.Contains(line, "not UET") {
			continue
		}
		ours, rest := lines[m[1]], m[4]
		words := strings.Fields(ours)
		require.Equal(t, m[2], words[5], "length of\n%s\n%s", line, ours)
		require.Contains(t, ours, "  "+m[3]+" ", line)
		checked++
		if strings.Contains(ours, "malformed") {
			continue
		}
		for _, c := range []struct{ theirs, ours string }{
			{` psn=(\d+)`, ` psn=(\d+)`}, {`\(ack psn (\d+)\)`, ` psn=(\d+)`}, {`cack=(\d+)`, `cack=(\d+)`}, {` s=(\d+)`, ` (\d+)>`}, {` d=(\d+)`, ` \d+>(\d+)`},
			{` msg=(\d+)`, ` msg=(\d+)`}, {`synoff=(\d+)`, `synoff=(\d+)`}, {`clear=(-?\d+) `, `clear=(-?\d+) `}, {`\[(\d+)B\]`, `  (\d+) B`}, {` moff=(\d+)`, ` at=(\d+)`},
			{` rc=(\S+)`, ` (?:DEFAULT|RESPONSE|RESPONSE_W_DATA) (\S+)`}, {`(?:reqlen|modlen)=(\d+)`, ` len=(\d+)`}, {`bm=0x([0-9a-f]+)`, `sack=[+-]\d+:([0-9a-f]+)`},
		} {
			theirs := find(c.theirs, rest)
			if theirs == "" || strings.Contains(rest, "CP ") && theirs == "0" {
				continue
			}
			if n, err := strconv.Atoi(theirs); err == nil && n == 0 && find(c.ours, ours) == "" {
				continue // fields that are 0 may be left out
			}
			got := find(c.ours, ours)
			if strings.HasSuffix(line, "="+theirs) && len(line) == 150 { // where longer ones are cut
				got = got[:min(len(got), len(theirs))]
			}
			require.Equal(t, theirs, got, "%s in\n%s\n%s", c.theirs, line, ours)
		}
	}
	require.Equal(t, 275, checked)
}
