package scenario

import "github.com/weft-transport/weft/transport/param"

// FabricFields describes the fields of `fabric:` that every topology has, for lists. They are read one by one, in
// readFabric; a test holds the defaults here against those.
var FabricFields = []param.Param{
	{Name: "hosts", Kind: param.Int, Default: "128", Doc: "number of hosts"},
	{Name: "rate", Kind: param.Rate, Default: "400Gbps", Doc: "rate of a host's link, and of all others (800 Gbit/s switches and below are what UE 1.0 was written for); what is given in bdp scales with it"},
	{Name: "linkDelay", Kind: param.Duration, Default: "500ns", Doc: "propagation over every link, 100 m; not scaled; the base RTT follows from it"},
	{Name: "switchDelay", Kind: param.Duration, Default: "500ns", Doc: "from the last bit in to the queue of the way out, as of today's switch chips; not scaled"},
	{Name: "oversubscription", Kind: param.Float, Default: "1", Doc: "bandwidth of a leaf's hosts over that of its uplinks; a ratio: not scaled"},
	{Name: "tierRates", Kind: param.Word, Doc: "rates by tier, host links first; absent: rate"},
	{Name: "tierDelays", Kind: param.Word, Doc: "propagation by tier, host links first; absent: linkDelay"},
	{Name: "payloadMTU", Kind: param.Int, Default: "4096", Doc: "payload of a full packet (RoCE v2's largest path MTU); not scaled"},
	{Name: "linkOverhead", Kind: param.Bytes, Default: "38", Doc: "bytes around the IP packet: Ethernet header, FCS, preamble and gap (IEEE 802.3); not scaled"},
	{Name: "wireBytes", Kind: param.Bytes, Default: "0", Doc: "size of a full data packet on the wire, whatever its headers, as simulators have it; 0: what it has; not scaled"},
	{Name: "buffer.perSwitch", Kind: param.Bytes, Default: "0", Doc: "packet memory of a switch; 0: scales with the rate of its ports"},
	{Name: "buffer.alpha", Kind: param.Float, Default: "1", Doc: "a queue may hold so many times the free memory, where the class does not say (Choudhury and Hahne, 1998); a ratio: scales with the buffer"},
	{Name: "reroute.local", Kind: param.Duration, Default: "50us", Doc: "until the switches beside a dead link leave it out (ours: hardware sees the port go down); not scaled"},
	{Name: "reroute.global", Kind: param.Duration, Default: "10ms", Doc: "until all others do (ours: a routing protocol converges); not scaled"},
	{Name: "routing", Kind: param.Word, Doc: "how switches spread packets over equal ways (weft list routing); absent: as the protocol says"},
	{Name: "classes", Kind: param.Word, Doc: "traffic classes of programs (weft emulate): a list of name, dscp (EF, CS3, AF21, 10; or a list; absent: what others leave), priority, weight, and settings of a class (weft list protocols) but trimming; absent: one class; protocols have their own"},
	{Name: "loss", Kind: param.Word, Doc: "what links lose (random, corrupt, every, burst, netem: a line of tc; links: on some); absent: nothing"},
	{Name: "samplePeriod", Kind: param.Duration, Default: "0", Doc: "between samples of queues and links; 0: scales with the base RTT"},
}
