package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTraining: a dead spine costs time, never an update, and the same run gives the same text.
func TestTraining(t *testing.T) {
	with, err := train(t.Context(), true)
	require.NoError(t, err)
	require.Regexp(t, `^slope (2\.9|3\.0)\d+, intercept \d\.\d+ after`, with)
	again, err := train(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, with, again)
	without, err := train(t.Context(), false)
	require.NoError(t, err)
	require.NotEqual(t, with, without)
}
