package lines

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReader(t *testing.T) {
	r := New(strings.NewReader("\ufeff# comment\r\na\tb  c\r\n\n   # another\n1 2.5 x\n"), "f")
	require.True(t, r.Next())
	require.Equal(t, []string{"a", "b", "c"}, r.Fields)
	require.Equal(t, 2, r.Line)
	require.True(t, r.Next())
	require.EqualError(t, r.Errorf("no %s", "good"), "f:5: no good")
	n, err := r.Whole(r.Fields[0], "n", 0, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	_, err = r.Whole("99999999999999999999", "n", 0, 9)
	require.EqualError(t, err, "f:5: n: 99999999999999999999 is outside 0 to 9")
	x, err := r.Decimal(r.Fields[1], "x", 0, 3)
	require.NoError(t, err)
	require.Equal(t, 2.5, x)
	_, err = r.Decimal(r.Fields[2], "x", 0, 3)
	require.EqualError(t, err, `f:5: x: "x" is not a number`)
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

func TestLongLine(t *testing.T) {
	r := New(strings.NewReader("a\n"+strings.Repeat("b", MaxLine+1)), "f")
	require.True(t, r.Next())
	require.False(t, r.Next())
	require.EqualError(t, r.Err(), "f:2: the line is longer than 1048576 bytes")
	require.Equal(t, `"`+strings.Repeat("b", 40)+`..."`, Quote(strings.Repeat("b", 50)))
}
