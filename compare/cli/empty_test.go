package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// Empty names are mistakes of scripts, whose variables are not set; --out ” alone has a meaning.
func TestEmptyNamesAreRefused(t *testing.T) {
	for flag, expected := range map[string]string{"--trace": "the name of a file", "--fct": "a directory", "--pcap": "the name of a file"} {
		status, _, stderr := weft(tinyCompare("--out", "", flag, "")...)
		require.Equal(t, cli.Usage, status)
		require.Equal(t, "weft: "+flag+": an empty text; expected "+expected+"\n", stderr)
	}
	status, _, stderr := weft("report", t.TempDir(), "--figures", "")
	require.Equal(t, cli.Usage, status)
	require.Equal(t, "weft: --figures: an empty text; expected a directory\n", stderr)
}

func TestTimersThatNothingReplaces(t *testing.T) {
	status, _, stderr := weft(tinyCompare("--out", "", "--protocols", "rocev2,timeout=0")...)
	require.Equal(t, cli.Usage, status)
	require.Contains(t, stderr, "timeout: 0 (none) needs acks=data")
}
