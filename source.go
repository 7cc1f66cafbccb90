// Package weft names the source that a program was built from, also when the tree it came from was
// not committed. The transport is in package transport/core, the command in cmd/weft.
package weft

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"strings"
	"sync"
)

// Version of the results and of the command line.
const Version = "0.1.0"

// The source itself is the only thing that says what was built: go run stamps no revision, and a
// revision says nothing of a dirty tree.
//
//go:embed go.mod go.sum *.go cmd/*/*.go compare/*.go compare/*/*.go compare/*/*/*.go congestion/*.go congestion/*/*.go
//go:embed emulator/*.go emulator/*/*.go emulator/*/*/*.go spray/*.go spray/*/*.go transport/*.go transport/*/*.go transport/*/*.s transport/*/*/*.go compare/scenario/builtin/*.yaml compare/report/page/*
var source embed.FS

// SourceHash returns the SHA-256 of all source files that take part in a build, tests left out, as
// 16 hexadecimal digits: the same on every machine.
var SourceHash = sync.OnceValue(func() string {
	sum := sha256.New()
	err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = io.WriteString(sum, path+"\x00"+string(text)+"\x00")
		return err
	})
	if err != nil {
		panic(err) // reading what is embedded cannot fail
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
})
