package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "my-permutation_2", "a/b", "permutation/workload.size=2MiB,spec.qps=4", "x/classes.uet={ecnMin:0.1bdp,trim:true}", "loss/p=1/256,q=1%"} {
		require.True(t, isScenarioName(good), good)
	}
	for _, bad := range []string{"", "/", "a/", "/b", "a b", "a.b", "a/b c", "a/\"", "a/b\n", "ä", "a/ä", "a/b\\c"} {
		require.False(t, isScenarioName(bad), bad)
	}
	s, err := Read("x.yaml", []byte(small), Options{Set: []string{"name=small/workload.size=2MiB,p=a:b#c"}})
	require.NoError(t, err)
	require.Equal(t, "small/workload.size=2MiB,p=a:b#c", s[0].Name)
	again, err := Read("y.yaml", []byte(s[0].Show()), Options{})
	require.NoError(t, err)
	require.Equal(t, s[0].Hash(), again[0].Hash(), "the name of a point of a sweep reads back")
}
