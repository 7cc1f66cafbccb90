package netns

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Within calls do on a thread that is in a namespace: sockets and devices that it opens belong there, also when it has
// returned. Its goroutines do not.
func Within(namespace string, do func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("netns: %w", err)
	}
	defer home.Close()
	if err := enter(namespace); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = do()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return fmt.Errorf("netns: leaving %s: %w", namespace, back) // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// enter moves the calling thread.
func enter(namespace string) error {
	there, err := os.Open(filepath.Join(runDir, namespace))
	if err != nil {
		return fmt.Errorf("netns: %w", err)
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("netns: entering %s takes CAP_SYS_ADMIN: %w", namespace, err)
	}
	return nil
}

// apart keeps a command from the signals of the terminal: an interrupt ends us, and we end it, or let it take things away.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// together makes a command the first of a group of processes that end with it when its context does.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
