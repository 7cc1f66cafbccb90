package scenario

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextsOfOtherSystems(t *testing.T) {
	for name, text := range map[string]string{
		"byte order mark": "\ufeff" + small,
		"Windows":         strings.ReplaceAll(small, "\n", "\r\n"),
		"old Macintosh":   strings.ReplaceAll(small, "\n", "\r"),
	} {
		all, err := Read("x.yaml", []byte(text), Options{})
		require.NoError(t, err, name)
		require.Len(t, all, 1, name)
	}
}

func TestWhatIsNoTextIsRefusedInOneShortLine(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xfen\x00a\x00":                    "x.yaml: is not a text in UTF-8",
		small + "\x00":                          "x.yaml: is not a text in UTF-8",
		strings.Repeat("[", 100_000):            "x.yaml: nested too deeply",
		"a: " + strings.Repeat("{a: ", 50_000):  "x.yaml: nested too deeply",
		strings.Repeat("- ", 100_000):           "x.yaml: nested too deeply",
		strings.Repeat("#", maxText+1):          "x.yaml: is larger than 4194304 bytes",
		strings.Repeat("word", 100_000):         "x.yaml:1:1: is \"wordwordwordword",
		strings.Repeat("word", 100_000) + ": 1": "x.yaml:1:1: unknown field \"wordwordwordword",
	} {
		_, err := Read("x.yaml", []byte(text), Options{})
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 400)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestFilesThatHaveNoEnd(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("no /dev/zero")
	}
	_, err := Load("/dev/zero", Options{})
	require.EqualError(t, err, "/dev/zero: cannot read /dev/zero: it is larger than 4194304 bytes")
}
