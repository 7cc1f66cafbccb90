package perf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumber(t *testing.T) {
	for want, v := range map[string]float64{"0 ": 0, "144 ": 144.2, "999 ": 999.4, "1 k": 999.7, "12.3 M": 12.34e6, "1 M": 999_900, "100 G": 1e11} {
		require.Equal(t, want, number(v))
	}
}
