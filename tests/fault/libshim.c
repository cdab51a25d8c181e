/* Makes one call of a starting jail fail: linked around the zygote's objects with
 * the linker's --wrap, so that every call which the jail's own code makes between
 * fork and park comes by here first. The plan is a record that tests/fault/run.py
 * writes into a copy of the program, since nothing else reaches a zygote: its
 * environment and arguments are fixed. A test program, never installed. */
#include "jail/status.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef __x86_64__
#error "the trampolines below are for x86-64"
#endif

enum fault_mode {
	FAULT_OFF,
	FAULT_COUNT,   /* the end of the set-up fails and says how many calls there were */
	FAULT_NAME,    /* the number-th call dies with its own name */
	FAULT_FAIL,    /* the number-th call fails with `err` and is not made */
	FAULT_SUCCEED, /* the number-th call answers 0 and is not made: for attempts that must fail */
};

/* Found by its magic and overwritten in the file. */
volatile struct {
	char magic[20];
	uint32_t mode, number;
	int32_t err;
	uint32_t sweep; /* 1: each further jail of this zygote fails one call further on */
} fault_plan = { "BRIG-FAULT-PLAN-001", FAULT_OFF, 0, 0, 0 };

static bool counting;
static uint32_t count, number;
static atomic_uint *started; /* jails so far, seen by all of them */


int fault_hit(const char *name);
void __real_status_open(int fd);
void __wrap_status_open(int fd);
void __real_status_close(void);
void __wrap_status_close(void);
int __real_status_send(struct status_rec *rec);
int __wrap_status_send(struct status_rec *rec);

__attribute__((constructor)) static void fault_share(void)
{
	started = mmap(NULL, sizeof(*started), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (started == MAP_FAILED)
		abort();
}

/* The first thing and the last thing of a set-up. */
void __wrap_status_open(int fd)
{
	number = fault_plan.number + fault_plan.sweep * atomic_fetch_add(started, 1);
	counting = fault_plan.mode != FAULT_OFF;
	__real_status_open(fd);
}

void __wrap_status_close(void)
{
	counting = false;
	__real_status_close();
}

/* PARKED is the last word of a set-up; sending it is one call more. */
int __wrap_status_send(struct status_rec *rec)
{
	char text[STATUS_OP_MAX];

	if (counting && fault_plan.mode == FAULT_COUNT && rec->kind == STATUS_PARKED) {
		counting = false;
		snprintf(text, sizeof(text), "calls=%u", count + 1);
		die_at(LAYER_FDS, text, 0);
	}
	return __real_status_send(rec);
}

/* 0: make the call, 1: fail it, 2: pretend that it went well. */
int fault_hit(const char *name)
{
	char text[STATUS_OP_MAX];

	if (!counting || ++count != number)
		return 0;
	if (fault_plan.mode == FAULT_NAME) {
		counting = false;
		snprintf(text, sizeof(text), "call=%s stage=%s", name, stage_name(stage_current()));
		die_at(LAYER_FDS, text, 0);
	}
	errno = fault_plan.err;
	return fault_plan.mode == FAULT_FAIL ? 1 : fault_plan.mode == FAULT_SUCCEED ? 2 : 0;
}

/* Keeps the six argument registers and al (of variadic calls), asks, then goes on to the real one or answers itself. */
#define WRAP(name, failed)                                                                                             \
	__asm__(".text\n.globl __wrap_" #name "\n.type __wrap_" #name ", @function\n"                                  \
		"__wrap_" #name ":\n"                                                                                  \
		"	endbr64\n	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n	push %r8\n	push %r9\n	push %rax\n"          \
		"	lea 3f(%rip), %rdi\n	call fault_hit\n	mov %eax, %r11d\n"                                     \
		"	pop %rax\n	pop %r9\n	pop %r8\n	pop %rcx\n	pop %rdx\n	pop %rsi\n	pop %rdi\n"                                \
		"	cmp $1, %r11d\n	je 1f\n	ja 2f\n	jmp __real_" #name "@PLT\n"                                            \
		"1:	mov $" #failed ", %rax\n	ret\n"                                                                 \
		"2:	xor %eax, %eax\n	ret\n"                                                                         \
		".section .rodata\n3:	.asciz \"" #name "\"\n.text\n");

/* The same list stands in the Makefile (FAULT_WRAP). */
WRAP(bind, -1) WRAP(cap_drop_bound, -1) WRAP(cap_get_bound, -1) WRAP(cap_init, 0) WRAP(cap_reset_ambient, -1)
WRAP(cap_set_proc, -1) WRAP(cap_set_secbits, -1) WRAP(chdir, -1) WRAP(chroot, -1) WRAP(close_range, -1) WRAP(connect, -1)
WRAP(dup3, -1) WRAP(fchdir, -1) WRAP(fcntl, -1) WRAP(fork, -1) WRAP(fsconfig, -1) WRAP(fsmount, -1) WRAP(fsopen, -1)
WRAP(fstat, -1) WRAP(getgroups, -1) WRAP(getresgid, -1) WRAP(getresuid, -1) WRAP(getrlimit, -1) WRAP(getsid, -1)
WRAP(mknod, -1) WRAP(mmap, -1) WRAP(mount_setattr, -1) WRAP(move_mount, -1) WRAP(nl_connect, -1)
WRAP(nl_recvmsgs_default, -1) WRAP(nl_send_simple, -1) WRAP(nl_socket_alloc, 0) WRAP(nl_socket_modify_cb, -1)
WRAP(nl_wait_for_ack, -1) WRAP(open, -1) WRAP(open_tree, -1) WRAP(prctl, -1) WRAP(read, -1) WRAP(sethostname, -1)
WRAP(setdomainname, -1) WRAP(setrlimit, -1) WRAP(setsid, -1) WRAP(sigaction, -1) WRAP(sigprocmask, -1) WRAP(socket, -1)
WRAP(statx, -1) WRAP(syscall, -1) WRAP(umount2, -1) WRAP(uname, -1) WRAP(unshare, -1) WRAP(write, -1)
