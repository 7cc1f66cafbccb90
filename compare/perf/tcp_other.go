//go:build !linux

package perf

import (
	"errors"
	"net"
	"syscall"
)

func TCPControl(cc string) func(string, string, syscall.RawConn) error {
	if cc == "" {
		return nil
	}
	return func(_, _ string, _ syscall.RawConn) error {
		return errors.New("the congestion control of TCP cannot be chosen on this system")
	}
}

func tcpDefault(cc string) string {
	if cc != "" {
		return cc
	}
	return "of the system"
}

func tcpCounters(*net.TCPConn, *Counters) {}
