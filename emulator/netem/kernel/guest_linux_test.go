package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// boot runs the guest that .ci/netem has built until it powers itself off, and returns what its console has shown. Time in it
// is the number of instructions run times two nanoseconds, and idle time passes at once. Without a guest the test skips.
func boot(t *testing.T, environment string) string {
	dir := os.Getenv("WEFT_NETEM")
	if dir == "" {
		t.Skip("takes the guest that .ci/netem builds")
	}
	console := filepath.Join(t.TempDir(), "console")
	qemu := exec.CommandContext(t.Context(), "qemu-system-x86_64", "-accel", "tcg,thread=single,tb-size=256", "-icount", "shift=1,sleep=off", "-cpu", "qemu64",
		"-m", "768", "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "file:"+console, "-no-reboot",
		"-kernel", filepath.Join(dir, "vmlinux"), "-initrd", filepath.Join(dir, "initrd"),
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable clocksource=tsc "+ // the rest: work that is not the network's
			"init_on_alloc=0 hardened_usercopy=off randomize_kstack_offset=0 kfence.sample_interval=0 audit=0 apparmor=0 nowatchdog "+environment)
	qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	complaints, err := qemu.CombinedOutput()
	text, _ := os.ReadFile(console)
	require.NoError(t, err, "QEMU: %s\nconsole of the guest: %s", complaints, text)
	return strings.ReplaceAll(string(text), "\r", "")
}

// TestKernelAgrees measures the kernel's netem.
func TestKernelAgrees(t *testing.T) {
	console := boot(t, fmt.Sprintf("ipv6.disable=1 RUN=netem COUNT=%d", *count))
	require.Contains(t, console, "all figures are here", "console of the guest")
	kernel, err := parse(strings.NewReader(console))
	require.NoError(t, err)
	if keep := os.Getenv("WEFT_NETEM_KEEP"); keep != "" { // what becomes testdata
		require.NoError(t, os.WriteFile(keep, []byte(figuresOf(console)), 0o644))
	}
	t.Logf("kernel %s, %d packets a case", kernel.title, *count)
	compare(t, kernel, *count)
}

func figuresOf(console string) string {
	var kept []string
	for line := range strings.Lines(console) {
		if strings.HasPrefix(line, "clock") || strings.HasPrefix(line, "figure\t") || strings.HasPrefix(line, "kernel ") || strings.HasPrefix(line, "base\t") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// TestTransportUnderKernel runs the transport between the guest's namespaces, under its netem and RED.
func TestTransportUnderKernel(t *testing.T) {
	console := boot(t, "RUN=transport")
	require.Contains(t, console, "ended with 0\n", "console of the guest")
	require.Contains(t, console, "--- PASS: TestUnderNetem/RED")
	require.NotContains(t, console, "SKIP")
	for line := range strings.Lines(console) {
		if strings.Contains(line, "tc:") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
