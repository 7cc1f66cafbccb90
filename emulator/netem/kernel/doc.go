// Package kernel holds the model of emulator/netem against theory and against the netem of a Linux kernel. It consists of
// tests. Those with a kernel of their own run in a guest that .ci/netem has built, under QEMU without KVM and in virtual time
// that counts instructions: what they measure does not depend on how busy the machine is.
//
//	cases: lines of tc, what theory says
//	      │                 │
//	    Model            guest: namespace a ── veth with netem ── namespace b      (probe_linux_test.go)
//	      │                 │
//	    trace             trace     when each packet was sent, what arrived, when and in which state
//	      └─── figures ─────┘       shares, means, correlations, with the number of trials
//
// What a kernel has shown is kept in ../testdata/kernel, so that everybody's tests compare with it.
package kernel
