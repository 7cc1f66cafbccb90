package dissect

import "strings"

// A Key documents a key of the JSON output.
type Key struct{ Name, Doc string }

// Keys lists the lines of the JSON output, by kind, and their keys in the order of the lines. A name with a dot lies in
// an object. Keys that a packet has nothing for are left out.
var Keys = []struct {
	Kind string
	Keys []Key
}{
	{"uet, roce: a packet", []Key{
		{"frame", "number in the file, from 1"},
		{"time", "RFC 3339, UTC"},
		{"time_ns", "ns since the first frame of the file"},
		{"interface, interface_name", "number in its section of the file; name if it has one"},
		{"direction, packet", "in or out; a number that is the same at every interface that the packet passed, if the file has one"},
		{"bytes, captured_bytes", "of the frame on the wire; in the file, if those are fewer"},
		{"dst_mac, src_mac, vlan", "of Ethernet; tags from the outermost on"},
		{"dscp, ecn, id, df, flow_label, ttl, protocol, src, dst", "of IP"},
		{"encapsulation, entropy, dst_port, udp_checksum", "of UDP or native IP; entropy is the UDP source port"},
		{"tss.", "sdi, an, ssi, epoch, counter"},
		{"pds.", "type, next_header, flags, clear_psn_offset, psn, spdcid, dpdcid, pdc_info, psn_offset, ccc_id, credit_target; " +
			"of acknowledgements ack_psn_offset, ack_psn, cack_psn, probe_opaque, cc_type, cc_flags, mpr (units of 128), sack_psn_offset, sack_bitmap, " +
			"credit (256 B), service_time (128 ns), restore_cwnd, rcv_cwnd_pend, rcvd_bytes (256 B), ooo_count, cc_state; of NACK nack_code, vendor_code, nack_psn, payload; " +
			"of control packets control_type, probe_opaque, payload, features; of RUDI packet_id"},
		{"ses.", "version, opcode, flags, message_id, generation, job_id, pid_on_fep, resource_index, buffer_offset, initiator, key, header_data, " +
			"payload_length, message_offset, request_length; of responses list, return_code, modified_length, read_message_id, request_psn"},
		{"atomic., rendezvous.", "op, data_type, semantic, compare, swap; eager_length, generation, pid_on_fep, resource_index, read_offset, read_key"},
		{"bth.", "opcode, flags, pad, pkey, dest_qp, psn"},
		{"deth., feth., reth., atomic_eth.", "qkey, src_qp; flush; va, rkey, length; va, rkey, swap_add, compare"},
		{"aeth., atomic_ack_eth., selective.", "syndrome, credits, rnr_wait_ns, msn; original; flags, base, bitmap"},
		{"immdt., ieth.", "immediate; invalidate_rkey"},
		{"payload_bytes", "behind the headers, checksum and padding left out"},
		{"check", "CRC or ICRC: ok, bad, missing, none, unchecked"},
		{"trimmed, malformed, comments", "true; what is wrong; of the file"},
		{"context, side", "which context, and which of its ends sends"},
		{"notes", "what the packet means for its context"},
	}},
	{"context: at the end, one for each PDC and connection (and interface)", []Key{
		{"context, protocol, interface_name", "number in order of appearance; UET or RoCE"},
		{"ends", "two of {address, id}: PDCID or queue pair number, null if it was not seen"},
		{"ordered, opened_frame, closed_frame", "of a PDC: ROD; 0 if not in the file"},
		{"first_ns, last_ns", "when it was seen, likewise"},
		{"flows", "what each end sends: packets, payload_bytes, answers, gaps, missing_psns, late_packets, retransmissions, spurious_retransmissions, " +
			"copies, ecn_marked, trimmed, refusals, cnps, messages, failed, reasons, rtt_samples, rtt_min_ns, rtt_mean_ns, rtt_max_ns"},
	}},
	{"forgotten: contexts that were idle longest when there were too many", []Key{
		{"protocol, contexts, flows", "how many, and their sums"},
	}},
	{"totals: the last line", []Key{
		{"format, application, comment", "pcap or pcapng; who wrote the file, and what it says of itself"},
		{"frames, bytes, uet, roce, printed", "of the whole file; printed: those that the filter let through"},
		{"malformed, bad_check, unchecked, snapped, trimmed, ecn_marked, dropped, commented, capture_dropped", "counts of frames; dropped: by the fabric of a run"},
		{"types", "packets and payload_bytes by type or opcode"},
		{"others", "frames that are neither UET nor RoCE v2, by name"},
		{"broken", "why the file could not be read to its end"},
	}},
}

// KeysHelp is Keys as text.
func KeysHelp() string {
	var b strings.Builder
	for _, k := range Keys {
		b.WriteString("\n  " + k.Kind + "\n")
		for _, key := range k.Keys {
			b.WriteString(hang("    "+key.Name+": ", key.Doc, "        "))
		}
	}
	return b.String()
}

// hang breaks a text into lines with what stands in front of the first and of the others.
func hang(first, text, others string) string {
	const width = 100
	out, line := "", first
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > width {
			out, line = out+strings.TrimRight(line, " ")+"\n", others
		}
		line += word + " "
	}
	return out + strings.TrimRight(line, " ") + "\n"
}
