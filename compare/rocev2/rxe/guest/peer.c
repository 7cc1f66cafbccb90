// The kernel's side of the conversation: opens rdma_rxe over eth0 and does what the lines of a TCP connection ask for, one
// line of answer for each. All numbers are in hexadecimal.
//
//	peer HOST PORT ADDRESS PEER      control line; our IPv4 address on eth0, and who queue pairs connect to
//
//	qp QPN PSN OWNPSN MTU RNR RETRY RNRRETRY TIMEOUT
//	                                 a new reliable connection to QPN: first PSNs of both, code of path MTU, of the wait that
//	                                 RNR NAKs ask for, both retry counts, code of the ACK timeout -> ok QPN RKEY ADDRESS
//	recv ID AT LENGTH                posts a receive
//	VERB ID AT LENGTH ADDRESS RKEY ADD COMPARE      posts send, sendimm, write, writeimm, read, fadd or cswap
//	wait                             -> wc ID STATUS LENGTH IMMEDIATE, of the next completion; the latter two of receives
//	fill AT LENGTH SEED              memory becomes a sequence that both ends know
//	set AT VALUE, get AT             eight bytes
//	digest AT LENGTH                 -> ok FNV-1A
//
// Built statically with libibverbs and its provider for rxe, since nothing else is in the guest.
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { memory_bytes = 8 << 20, queue = 1024, wait_seconds = 120, reads = 16 };

static struct ibv_context *device;
static struct ibv_pd *domain;
static struct ibv_cq *completions;
static struct ibv_mr *region;
static struct ibv_qp *pair;
static unsigned char *memory;
static union ibv_gid own, other;
static int gid_index;

static void die(const char *what)
{
	fprintf(stderr, "peer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *attribute(struct nlmsghdr *m, int type, const char *text)
{
	struct nlattr *a = (void *)((char *)m + NLMSG_ALIGN(m->nlmsg_len));
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + strlen(text) + 1;
	strcpy((char *)a + NLA_HDRLEN, text);
	m->nlmsg_len = NLMSG_ALIGN(m->nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

// link_rxe does what "rdma link add rxe0 type rxe netdev eth0" does.
static void link_rxe(void)
{
	char buffer[512] = {0};
	struct nlmsghdr *m = (void *)buffer;
	int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	m->nlmsg_len = NLMSG_HDRLEN;
	m->nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK);
	m->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	attribute(m, RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	attribute(m, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
	attribute(m, RDMA_NLDEV_ATTR_NDEV_NAME, "eth0");
	if (s < 0 || send(s, m, m->nlmsg_len, 0) < 0 || recv(s, buffer, sizeof buffer, 0) < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		die("netlink");
	errno = -((struct nlmsgerr *)NLMSG_DATA(m))->error;
	if (errno)
		die("link of type rxe");
	close(s);
}

static union ibv_gid mapped(const char *address)
{
	union ibv_gid g = {.raw = {[10] = 0xff, [11] = 0xff}};
	if (inet_pton(AF_INET, address, g.raw + 12) != 1)
		die(address);
	return g;
}

// open_device waits for the address to be among the GIDs, which takes a moment.
static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	if (!list || !list[0] || !(device = ibv_open_device(list[0])))
		die("no RDMA device");
	for (int tries = 0;; tries++) {
		union ibv_gid g;
		for (gid_index = 0; gid_index < 16; gid_index++)
			if (!ibv_query_gid(device, 1, gid_index, &g) && !memcmp(&g, &own, sizeof g))
				goto found;
		if (tries == 1000)
			die("our address is not among the GIDs");
		usleep(10000);
	}
found:
	domain = ibv_alloc_pd(device);
	completions = ibv_create_cq(device, 2 * queue, NULL, NULL, 0);
	memory = aligned_alloc(4096, memory_bytes);
	if (!domain || !completions || !memory)
		die("domain, completions or memory");
	memset(memory, 0, memory_bytes);
	region = ibv_reg_mr(domain, memory, memory_bytes,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!region)
		die("memory region");
}

static int connect_pair(const unsigned long *n)
{
	struct ibv_wc gone;
	if (pair)
		ibv_destroy_qp(pair);
	while (ibv_poll_cq(completions, 1, &gone) > 0)
		;
	pair = ibv_create_qp(domain, &(struct ibv_qp_init_attr){.send_cq = completions, .recv_cq = completions, .qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = queue, .max_recv_wr = queue, .max_send_sge = 1, .max_recv_sge = 1}});
	if (!pair)
		return errno;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
	int bad = ibv_modify_qp(pair, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (bad)
		return bad;
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = n[3], .dest_qp_num = n[0], .rq_psn = n[1], .max_dest_rd_atomic = reads,
		.min_rnr_timer = n[4], .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = other, .sgid_index = gid_index, .hop_limit = 64}}};
	bad = ibv_modify_qp(pair, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		IBV_QP_MIN_RNR_TIMER);
	if (bad)
		return bad;
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .sq_psn = n[2], .timeout = n[7], .retry_cnt = n[5], .rnr_retry = n[6], .max_rd_atomic = reads};
	return ibv_modify_qp(pair, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static const struct { const char *name; enum ibv_wr_opcode opcode; } verbs[] = {
	{"send", IBV_WR_SEND}, {"sendimm", IBV_WR_SEND_WITH_IMM}, {"write", IBV_WR_RDMA_WRITE}, {"writeimm", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"read", IBV_WR_RDMA_READ}, {"fadd", IBV_WR_ATOMIC_FETCH_AND_ADD}, {"cswap", IBV_WR_ATOMIC_CMP_AND_SWP},
};

static int post(const char *verb, const unsigned long *n)
{
	struct ibv_sge place = {(uintptr_t)memory + n[1], n[2], region->lkey};
	struct ibv_send_wr w = {.wr_id = n[0], .sg_list = &place, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(0x01020300 + n[0])}, *bad;
	unsigned k = 0;
	while (strcmp(verb, verbs[k].name))
		if (++k == sizeof verbs / sizeof *verbs)
			return EINVAL;
	w.opcode = verbs[k].opcode;
	if (w.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || w.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		w.wr.atomic.remote_addr = n[3];
		w.wr.atomic.rkey = n[4];
		w.wr.atomic.swap = n[5];
		w.wr.atomic.compare_add = n[6];
		if (w.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			w.wr.atomic.compare_add = n[5];
	} else {
		w.wr.rdma.remote_addr = n[3];
		w.wr.rdma.rkey = n[4];
	}
	return ibv_post_send(pair, &w, &bad);
}

static int post_receive(const unsigned long *n)
{
	struct ibv_sge place = {(uintptr_t)memory + n[1], n[2], region->lkey};
	struct ibv_recv_wr w = {.wr_id = n[0], .sg_list = &place, .num_sge = 1}, *bad;
	return ibv_post_recv(pair, &w, &bad);
}

static int next_completion(struct ibv_wc *c)
{
	for (time_t end = time(NULL) + wait_seconds; time(NULL) < end; usleep(100))
		if (ibv_poll_cq(completions, 1, c) == 1)
			return 0;
	return ETIMEDOUT;
}

static void fill(unsigned long at, unsigned long length, unsigned long seed)
{
	for (unsigned long i = 0; i < length; i += 8) { // splitmix64
		unsigned long z = seed += 0x9e3779b97f4a7c15;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		z ^= z >> 31;
		memcpy(memory + at + i, &z, length - i < 8 ? length - i : 8);
	}
}

static unsigned long digest(unsigned long at, unsigned long length)
{
	unsigned long h = 0xcbf29ce484222325;
	while (length--)
		h = (h ^ memory[at++]) * 0x100000001b3;
	return h;
}

static int inside(unsigned long at, unsigned long length) { return at <= memory_bytes && length <= memory_bytes - at; }

static void answer(FILE *line, const char *verb, const unsigned long *n)
{
	int bad = 0;
	if (!strcmp(verb, "qp")) {
		if (!(bad = connect_pair(n))) {
			fprintf(line, "ok %x %x %lx\n", pair->qp_num, region->rkey, (unsigned long)memory);
			return;
		}
	} else if (!strcmp(verb, "wait")) {
		struct ibv_wc c;
		if (!(bad = next_completion(&c))) {
			int receive = !c.status && c.opcode & IBV_WC_RECV;
			fprintf(line, "wc %lx %x %x %x\n", (unsigned long)c.wr_id, c.status, receive ? c.byte_len : 0,
				receive && c.wc_flags & IBV_WC_WITH_IMM ? ntohl(c.imm_data) : 0);
			return;
		}
	} else if (!strcmp(verb, "set") && inside(n[0], 8)) {
		memcpy(memory + n[0], &n[1], 8);
	} else if (!strcmp(verb, "get") && inside(n[0], 8)) {
		unsigned long value;
		memcpy(&value, memory + n[0], 8);
		fprintf(line, "ok %lx\n", value);
		return;
	} else if (!strcmp(verb, "fill") && inside(n[0], n[1])) {
		fill(n[0], n[1], n[2]);
	} else if (!strcmp(verb, "digest") && inside(n[0], n[1])) {
		fprintf(line, "ok %lx\n", digest(n[0], n[1]));
		return;
	} else if (!pair || !inside(n[1], n[2])) {
		bad = EINVAL;
	} else {
		bad = !strcmp(verb, "recv") ? post_receive(n) : post(verb, n);
	}
	fprintf(line, bad ? "error %x %s\n" : "ok\n", bad, strerror(bad));
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return fprintf(stderr, "usage: peer HOST PORT ADDRESS PEER\n"), 2;
	own = mapped(argv[3]);
	other = mapped(argv[4]);
	link_rxe();
	open_device();
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
	int s = socket(AF_INET, SOCK_STREAM, 0);
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 || connect(s, (void *)&to, sizeof to))
		die("control line");
	FILE *in = fdopen(s, "r"), *out = fdopen(dup(s), "w");
	char text[256], verb[16];
	fprintf(out, "ready\n");
	fflush(out);
	while (fgets(text, sizeof text, in)) {
		unsigned long n[8] = {0};
		sscanf(text, "%15s %lx %lx %lx %lx %lx %lx %lx %lx", verb, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7);
		answer(out, verb, n);
		fflush(out);
	}
	return 0; // whoever asked has gone
}
