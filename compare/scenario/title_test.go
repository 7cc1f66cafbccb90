package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const titledBase = `name: first
title: The first
fabric: {topology: single, hosts: 4, rate: 100Gbps}
workload: {kind: permutation, size: 1KiB}
protocols: probe
---
base: first
name: second
---
base: first
name: third
title: The third
---
base: second
name: fourth
seeds: 2
`

// A title belongs to its name: who takes over fields of another scenario has to bring its own.
func TestTitlesAreNotInherited(t *testing.T) {
	all, err := Read("my.yaml", []byte(titledBase), Options{})
	require.NoError(t, err)
	var titles []string
	for _, s := range all {
		titles = append(titles, s.Title)
	}
	require.Equal(t, []string{"The first", "", "The third", ""}, titles)

	one := "name: one\nbase: incast-8\n"
	all, err = Read("my.yaml", []byte(one), Options{Protocols: "probe"})
	require.NoError(t, err)
	require.Empty(t, all[0].Title)
	require.EqualValues(t, 8, all[0].Workload.Params.Int("degree"))
}

func TestANewNameTakesTheTitleAway(t *testing.T) {
	for want, set := range map[string][]string{
		"Incast, 8 to 1": nil,
		"":               {"name=point/workload.degree=4"},
		"Four":           {"name=four", "title=Four"},
	} {
		all, err := Load("incast-8", Options{Set: set, Protocols: "probe"})
		require.NoError(t, err)
		require.Equal(t, want, all[0].Title)
	}
}
