// Package dissect decodes the UET and RoCE v2 packets of a capture and follows their contexts: what weft dump prints.
//
//	capture.Frame ── Decode ──► Packet: link and IP, headers, payload, checksum, what is wrong with it
//	                               │
//	                            Tracker: PDCs and queue pairs; leaves notes on the packet
//	                               │
//	      line.go, words.go  one line a packet     tree.go  every field with its place     json.go  JSON Lines
//	              table.go  what was there in all, and in each context
//
// Formats are the business of packages transport/wire (with encap) and compare/rocev2/wire: here a header is a list
// of named fields (fields.go), from which the tree and the JSON come, so that they cannot differ.
//
// A flow (flow.go) is one direction of a context: which PSNs were seen, when, and what was acknowledged. It is judged
// from where the capture was taken: a gap may be a loss before that place or a packet that comes late, and a round trip
// is from the passing of a packet to the passing of its answer. PDCs (pdc.go) and queue pairs (qp.go) are two flows and
// what their protocol says about them; idempotent requests have no context (rudi.go).
//
// Memory is bounded, whatever the file holds: a flow remembers as many PSNs as its window spans, at most
// maxWindow; contexts are at most maxContexts, of which the ones idle longest are closed and summed up.
package dissect
