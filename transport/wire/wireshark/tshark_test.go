package wireshark_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireTshark skips the test where there is no tshark, or fails it where one is required (WEFT_TSHARK=required, or off).
func requireTshark(t testing.TB) {
	t.Helper()
	if os.Getenv("WEFT_TSHARK") == "off" {
		t.Skip("WEFT_TSHARK=off")
	}
	if _, err := exec.LookPath("tshark"); err == nil {
		return
	}
	if os.Getenv("WEFT_TSHARK") == "required" {
		t.Fatal("WEFT_TSHARK=required, and there is no tshark (Debian: apt-get install tshark)")
	}
	t.Skip("no tshark to test the dissector with (Debian: apt-get install tshark)")
}

// tshark runs with the dissector, but without what the user has configured, and returns what it printed. An error of
// the dissector is an error of the test.
func tshark(t testing.TB, args ...string) string {
	t.Helper()
	requireTshark(t)
	script, err := filepath.Abs("uet.lua")
	require.NoError(t, err)
	return plainTshark(t, append([]string{"-X", "lua_script:" + script}, args...)...)
}

// plainTshark runs without the dissector.
func plainTshark(t testing.TB, args ...string) string {
	t.Helper()
	return tsharkOf(t, t.TempDir(), append([]string{"-n"}, args...)...)
}

// tsharkOf runs for a user with that home.
func tsharkOf(t testing.TB, home string, args ...string) string {
	t.Helper()
	requireTshark(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a bound, far above what any call takes
	defer cancel()
	run := exec.CommandContext(ctx, "tshark", args...)
	run.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "LC_ALL=C.UTF-8")
	var out, complaints bytes.Buffer
	run.Stdout, run.Stderr = &out, &complaints
	require.NoError(t, run.Run(), "tshark %s: %s", strings.Join(args, " "), complaints.String())
	require.NotContains(t, strings.ToLower(complaints.String()), "lua", "tshark %s", strings.Join(args, " "))
	require.False(t, args[0] != "-G" && strings.Contains(out.String(), "Lua Error"), "tshark %s", strings.Join(args, " "))
	return out.String()
}

// columns asks for fields of all frames that the filter lets through: one slice a frame, in the order of fields.
func columns(t testing.TB, file, filter string, fields []string, more ...string) [][]string {
	t.Helper()
	args := []string{"-2", "-r", file, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=;"}
	if filter != "" {
		args = append(args, "-Y", filter)
	}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var rows [][]string
	for line := range strings.Lines(tshark(t, append(args, more...)...)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, row, len(fields), "%s: %q", file, line)
		for i := range row {
			row[i] = plain(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}

// plain writes numbers and truth as all versions of tshark could.
func plain(value string) string {
	switch value {
	case "True":
		return "1"
	case "False":
		return "0"
	}
	if n, err := strconv.ParseUint(value, 0, 64); err == nil && strings.HasPrefix(value, "0x") {
		return strconv.FormatUint(n, 10)
	}
	return value
}

// writePcap makes a capture of Ethernet frames, a microsecond apart.
func writePcap(t testing.TB, frames [][]byte) string {
	t.Helper()
	return snappedPcap(t, frames, 1<<16)
}

// snappedPcap keeps so many bytes of each.
func snappedPcap(t testing.TB, frames [][]byte, snap int) string {
	t.Helper()
	file := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	file = append(file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	for i, f := range frames {
		for _, word := range []uint32{1, uint32(i), uint32(min(len(f), snap)), uint32(len(f))} {
			file = binary.LittleEndian.AppendUint32(file, word)
		}
		file = append(file, f[:min(len(f), snap)]...)
	}
	path := filepath.Join(t.TempDir(), "frames.pcap")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}
