package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// Empty names are mistakes of scripts, whose variables are not set; --out ” alone has a meaning.
func TestEmptyNamesAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"compare --trace=":                        "--trace: an empty text; expected the name of a file",
		"compare --fct=":                          "--fct: an empty text; expected a directory",
		"compare --pcap=":                         "--pcap: an empty text; expected the name of a file",
		"compare permutation ,":                   "<scenario>: an empty text; expected a name",
		"run permutation --protocol uet --trace=": "--trace: an empty text; expected the name of a file",
		"show ,":                         "<scenario>: an empty text; expected a name",
		"report out --figures=":          "--figures: an empty text; expected a directory",
		"report out --file=":             "--file: an empty text; expected the name of a file",
		"report ,":                       "<dir>: an empty text; expected a directory",
		"sweep grid-uet --out=":          "--out: an empty text; expected a directory",
		"sweep grid-uet --pcap=":         "--pcap: an empty text; expected the name of a file",
		"sweep ,":                        "<plan>: an empty text; expected a name",
		"merge out ,":                    "<dir>: an empty text; expected a directory",
		"merge out --out=":               "--out: an empty text; expected a directory",
		"dump ,":                         "<file>: an empty text; expected the name of a file",
		"emulate run small.yaml --out=":  "--out: an empty text; expected a directory",
		"emulate run small.yaml --pcap=": "--pcap: an empty text; expected the name of a file",
	} {
		words := strings.Split(args, " ")
		for i := range words {
			words[i] = strings.TrimPrefix(words[i], ",") // a lone comma stands for an empty argument
		}
		status, stdout, stderr := weft(words...)
		require.Equal(t, cli.Usage, status, args)
		require.Empty(t, stdout, args)
		require.Equal(t, "weft: "+want+"\n", stderr, args)
	}
	status, _, stderr := weft(tinyCompare("--out", "", "--trace", " ")...)
	require.Equal(t, cli.Usage, status)
	require.Equal(t, "weft: --trace: an empty text; expected the name of a file\n", stderr)
	status, _, stderr = weft(tinyCompare("--out", "")...)
	require.Equal(t, cli.Done, status, stderr)
}

func TestTimersThatNothingReplaces(t *testing.T) {
	status, _, stderr := weft(tinyCompare("--out", "", "--protocols", "rocev2,timeout=0")...)
	require.Equal(t, cli.Usage, status)
	require.Contains(t, stderr, "timeout: 0 (none) needs acks=data")
}
