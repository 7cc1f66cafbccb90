// Package rxe holds the endpoint of compare/rocev2 against a stranger: rdma_rxe of a Linux kernel, in a guest without KVM and
// without root. It consists of tests, which .ci/rxe runs with the guest that it has built; by themselves they skip.
//
//	our end (end)                        gateway                      guest, QEMU
//	rocev2.Host                                                       verbs, rdma_rxe
//	udp.Carrier, sockets.Format                                       UDP, IP
//	127.a.b.1:4791  ◄── datagrams ──► 127.a.b.2 ◄── Ethernet ──►      eth0: 127.a.b.2
//	     ▲              of UDP        counts, loses  frames, over          ▲
//	     │                                           UNIX datagrams        │
//	     └─────────── script: exchange, answers ───── TCP, lines ──────────┘ eth1: guest/peer.c
//
// The guest has a loopback address on its Ethernet, so that the addresses, which the ICRC covers, are the same on both sides
// without any privilege. What our carrier has sealed reaches the kernel as it is; what the kernel has sealed is checked
// by the gateway, and sealed again for our carrier, for one reason: rxe numbers its packets (IPv4 identification), and a
// socket does not show the number.
package rxe
