package udp

import (
	"testing"
)

func TestMessageOverLoopback(t *testing.T) {
	a, b := open(t, "127.0.0.1", nil), open(t, "127.0.0.1", nil)
	move(t, a, b, 1, 100)
	move(t, b, a, 10, 50_000)
	t.Logf("%+v", a.stats(t))
}
