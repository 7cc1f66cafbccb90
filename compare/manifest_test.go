package compare

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRepeatableCommandDropsWhatDoesNotChangeResults(t *testing.T) {
	args := []string{"weft", "compare", "--workers", "2", "clean", "--out=x", "--seeds=1..5", "--json", "--quiet", "--set", "a=b"}
	require.Equal(t, []string{"weft", "compare", "clean", "--seeds=1..5", "--set", "a=b"}, RepeatableCommand(args))
	require.Equal(t, []string{"weft"}, RepeatableCommand([]string{"weft", "--workers"}))
}
