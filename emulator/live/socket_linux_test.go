package live

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// loopback opens a socket, and another that is connected with it.
func loopback(t *testing.T) (to, from *socket) {
	a, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	enlarge(a)
	b, err := net.DialUDP("udp4", nil, a.LocalAddr().(*net.UDPAddr))
	require.NoError(t, err)
	to, err = newSocket(a)
	require.NoError(t, err)
	from, err = newSocket(b)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = to.close(), from.close() })
	return to, from
}

// datagramsOf are distinct.
func datagramsOf(sizes ...int) (all []leaving, want [][]byte) {
	by := new(Conn)
	for i, n := range sizes {
		b := make([]byte, n)
		for j := range b {
			b[j] = byte(i + j)
		}
		all, want = append(all, leaving{&parcel{bytes: b}, by}), append(want, b)
	}
	return all, want
}

func readAll(t *testing.T, s *socket, n int) (got [][]byte, reads int) {
	in := newIntake()
	for end := time.Now().Add(20 * time.Second); len(got) < n; {
		require.True(t, time.Now().Before(end), "%d of %d came", len(got), n)
		require.NoError(t, s.read(in))
		if len(in.datagrams) > 0 {
			reads++
		}
		for _, d := range in.datagrams {
			require.False(t, d.cut)
			require.Less(t, d.age, time.Hour)
			got = append(got, append([]byte{}, d.bytes...))
		}
	}
	require.NoError(t, s.read(in))
	require.Empty(t, in.datagrams)
	return got, reads
}

// Whatever goes in one piece and however it is joined and cut, datagrams are what they were.
func TestDatagramsLeaveAndComeAsTheyAre(t *testing.T) {
	many := make([]int, 200)
	for i := range many {
		many[i] = 1000
	}
	for name, sizes := range map[string][]int{
		"one":                          {100},
		"empty ones":                   {0, 0, 7, 0, 7, 7},
		"shorter and longer":           {900, 900, 100, 100, 900, 901, 901, 30},
		"large ones":                   {MaxDatagram, 40_000, 40_000, 20_000, 20_000, 20_000, 20_000},
		"more than a call has room of": many,
	} {
		t.Run(name, func(t *testing.T) {
			to, from := loopback(t)
			all, want := datagramsOf(sizes...)
			done, refused := from.try(all)
			require.Equal(t, len(all), done)
			require.Zero(t, refused)
			got, reads := readAll(t, to, len(all))
			require.Equal(t, want, got)
			if len(sizes) > 100 {
				require.Less(t, reads, len(sizes)/4)
			}
			require.Zero(t, to.overflow())
		})
	}
}

// What the kernel refuses is counted, and is all that is lost.
func TestSocketsCountWhatTheKernelRefuses(t *testing.T) {
	to, from := loopback(t)
	all, want := datagramsOf(10, 70_000, 70_000, 20, 20)
	done, refused := from.try(all)
	require.Equal(t, [2]int{5, 2}, [2]int{done, refused}, "two are larger than UDP's")
	got, _ := readAll(t, to, 3)
	require.Equal(t, [][]byte{want[0], want[3], want[4]}, got)

	// A path of packets that are smaller than a piece's datagrams: they go by themselves.
	require.True(t, from.do(func(fd int) { require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1)) }))
	all, want = datagramsOf(500, 500, 500)
	done, refused = from.try(all)
	require.Equal(t, [2]int{3, 0}, [2]int{done, refused})
	got, _ = readAll(t, to, 3)
	require.Equal(t, want, got)
	require.True(t, from.whole, "the kernel refuses a piece without checksums")

	require.NoError(t, from.close())
	require.NoError(t, from.close())
	done, refused = from.try(all)
	require.Equal(t, [2]int{3, 3}, [2]int{done, refused})
	require.Equal(t, 3, from.write(all))
	require.ErrorIs(t, from.read(newIntake()), net.ErrClosed)
}

// That nobody listened to one datagram loses no other.
func TestARefusalIsNotOfTheNextDatagram(t *testing.T) {
	to, from := loopback(t)
	addr := to.addr.(*net.UDPAddr)
	require.NoError(t, to.close())
	all, _ := datagramsOf(10, 20, 30)
	done, refused := from.try(all)
	require.Equal(t, [2]int{3, 0}, [2]int{done, refused})
	again, err := net.ListenUDP("udp4", addr)
	require.NoError(t, err)
	to, err = newSocket(again)
	require.NoError(t, err)
	defer to.close()
	all, want := datagramsOf(10, 20, 30)
	done, refused = from.try(all) // the first hears of those before
	require.Equal(t, [2]int{3, 0}, [2]int{done, refused})
	got, _ := readAll(t, to, 3)
	require.Equal(t, want, got)
}

func TestSocketsKnowWhatWasDroppedInFrontOfThem(t *testing.T) {
	to, from := loopback(t)
	require.True(t, to.do(func(fd int) { require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1)) }))
	sizes := make([]int, 50)
	for i := range sizes {
		sizes[i] = 2000 - i // two in a piece
	}
	all, _ := datagramsOf(sizes...)
	from.try(all)
	in, got := newIntake(), 0
	require.Eventually(t, func() bool { // a busy kernel takes its time
		require.NoError(t, to.read(in))
		got += len(in.datagrams)
		return got+int(to.overflow()) == len(all)
	}, 20*time.Second, time.Millisecond)
	require.NotZero(t, to.overflow())
	require.NoError(t, to.close())
	require.EqualValues(t, len(all)-got, to.overflow(), "and when they are closed")
}
