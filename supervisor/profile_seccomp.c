/* The filter has two parts. Ours, in front, answers ENOSYS for every number that
 * libseccomp does not know: libseccomp can compare numbers only for equality, so
 * with ENOSYS as its default an argument that does not fit would answer ENOSYS
 * too, and callers would believe that prctl or socket do not exist here.
 * libseccomp's part follows, with EPERM as its default.
 *
 *   arch != ours ------------------------------> libseccomp: KILL_PROCESS
 *   nr >= the x32 bit (x86-64 only) -----------> libseccomp: KILL_PROCESS
 *   nr above the highest known, or in a gap ---> ENOSYS
 *   else --------------------------------------> libseccomp: allow, errno, notify
 */
#include "supervisor/profile_seccomp.h"

#include "supervisor/profile.h"
#include "supervisor/syscall_args.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define NATIVE_AUDIT_ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define NATIVE_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#error "no list of what this architecture numbers its calls by"
#endif

/* User notification without probing the kernel for it: core's own filter may not
 * allow seccomp(2), and the jail finds out by itself when it installs the program. */
#define SECCOMP_API_NOTIFY 5

static int native_number(const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, name);

	return nr >= 0 && nr < SECCOMP_NUMBERS ? nr : -1;
}

bool seccomp_name_known(const char *name)
{
	return native_number(name) >= 0;
}

void seccomp_grant_group(struct seccomp_grants *grants, const struct syscall_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		int nr = native_number(group->entries[i].name);
		if (nr >= 0)
			grants->checks[nr] |= 1u << group->entries[i].check;
	}
}

bool seccomp_grant_name(struct seccomp_grants *grants, const char *name)
{
	int nr = native_number(name);

	if (nr < 0)
		return false;
	grants->checks[nr] |= 1u << syscall_check_of(name);
	return true;
}

static int add_grants(scmp_filter_ctx ctx, const struct seccomp_grants *grants)
{
	for (int nr = 0; nr < SECCOMP_NUMBERS; nr++) {
		uint32_t checks = grants->checks[nr];

		/* One unconditional grant makes every condition moot. */
		if (checks & 1u << CHECK_NONE)
			checks = 1u << CHECK_NONE;
		for (int check = 0; checks; check++, checks >>= 1) {
			int r = checks & 1 ? syscall_args_allow(ctx, nr, (enum syscall_check)check) : 0;
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int add_fixed(scmp_filter_ctx ctx)
{
	const struct syscall_fixed *f;

	for (size_t i = 0; (f = syscall_fixed_at(i)); i++) {
		int nr = native_number(f->name), r = 0;

		if (nr < 0 || f->fate == FATE_NEVER)
			continue;
		r = seccomp_rule_add_exact_array(ctx, f->fate == FATE_ATTACK ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(ENOSYS),
						 nr, 0, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* libseccomp's part. */
static int generate(scmp_filter_ctx ctx, const struct seccomp_grants *grants)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* binary tree: a dozen compares, not hundreds */
	if (r == 0)
		r = add_fixed(ctx);
	return r < 0 ? r : add_grants(ctx, grants);
}

struct out {
	struct sock_filter *insns;
	uint32_t len, max;
};

static void emit(struct out *out, struct sock_filter insn)
{
	if (out->len < out->max)
		out->insns[out->len] = insn;
	out->len++;
}

/* nr in lo..hi: ENOSYS. */
static void emit_gap(struct out *out, uint32_t lo, uint32_t hi)
{
	emit(out, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, lo, 0, 2));
	emit(out, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, hi, 1, 0));
	emit(out, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
}

static bool number_is_known(uint32_t nr)
{
	_cleanup_free_ char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)nr);

	return name != NULL;
}

/* Our part. The jump over it is patched once its length is known. */
static int emit_unknown(struct out *out)
{
	uint32_t gap = 0; /* first number of the gap that is open, 1 based */
	uint32_t start, jumps;

	emit(out, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
	emit(out, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_AUDIT_ARCH, 0, 0));
	emit(out, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
#ifdef X32_BIT
	emit(out, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 0));
#endif
	start = out->len;
	for (uint32_t nr = 0; nr < SECCOMP_NUMBERS; nr++) {
		if (!number_is_known(nr)) {
			gap = gap ? gap : nr + 1;
		} else if (gap) {
			emit_gap(out, gap - 1, nr - 1);
			gap = 0;
		}
	}
	emit_gap(out, gap ? gap - 1 : SECCOMP_NUMBERS, UINT32_MAX);
	jumps = out->len - 2;
	if (out->len > out->max || jumps > UINT8_MAX)
		return -E2BIG;
	out->insns[1].jf = (uint8_t)jumps;
#ifdef X32_BIT
	out->insns[3].jt = (uint8_t)(out->len - start);
#endif
	return 0;
}

/* Through a pipe that never blocks: the longest program that fits a spec fits a pipe too. */
static int emit_generated(struct out *out, scmp_filter_ctx ctx)
{
	_cleanup_close_ int read_fd = -1, write_fd = -1;
	size_t room = (out->max - out->len) * sizeof(struct sock_filter);
	char extra;
	int fds[2], r;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	read_fd = fds[0];
	write_fd = fds[1];
	r = seccomp_export_bpf(ctx, write_fd);
	if (r < 0)
		return r;
	write_fd = fd_close(write_fd);
	n = read(read_fd, out->insns + out->len, room);
	if (n < 0)
		return -errno;
	if (room == 0)
		return -E2BIG;
	if (n == 0 || (size_t)n % sizeof(struct sock_filter) != 0)
		return -EIO;
	if ((size_t)n == room && read(read_fd, &extra, 1) != 0)
		return -E2BIG;
	out->len += (uint32_t)((size_t)n / sizeof(struct sock_filter));
	return 0;
}

int seccomp_compile(const struct seccomp_grants *grants, struct sock_filter *insns, uint32_t max, uint32_t *ret_len,
		    struct err *err)
{
	struct out out = { .insns = insns, .max = max };
	scmp_filter_ctx ctx;
	int r;

	seccomp_api_set(SECCOMP_API_NOTIFY);
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return err_set(err, ERR_HOST, ENOMEM, "seccomp", "libseccomp cannot make a filter");
	r = generate(ctx, grants);
	if (r == 0)
		r = emit_unknown(&out);
	if (r == 0)
		r = emit_generated(&out, ctx);
	seccomp_release(ctx);
	if (r == -E2BIG)
		return err_set(err, ERR_POLICY, E2BIG, "seccomp", "the filter needs more than %u instructions", max);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "seccomp", "cannot make the filter: %s", strerror(-r));
	*ret_len = out.len;
	return 0;
}

char *profile_syscall_name(uint32_t arch, int nr)
{
	/* SCMP_ARCH_* are AUDIT_ARCH_* by definition, but for NATIVE (0, no architecture) and x32, which shares x86-64's. */
	char *name = arch == SCMP_ARCH_NATIVE ? NULL : seccomp_syscall_resolve_num_arch(arch, nr);

#ifdef X32_BIT
	if (!name && arch == AUDIT_ARCH_X86_64 && ((uint32_t)nr & X32_BIT))
		name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X32, nr);
#endif
	return name;
}
