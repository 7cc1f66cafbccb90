package report

import (
	"io"
	"testing"
)

// The page of 13 scenarios under nine protocols, some with samples: nobody should wait for it.
func BenchmarkBuild(b *testing.B) {
	d := synthetic()
	b.ReportAllocs()
	for b.Loop() {
		if err := Build(io.Discard, d); err != nil {
			b.Fatal(err)
		}
	}
}
