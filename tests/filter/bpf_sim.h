/* Runs a classic BPF program over a struct seccomp_data, as the kernel's
 * seccomp_check_filter() admits it. Written from Documentation/networking/filter.rst;
 * shares nothing with libseccomp. */
#ifndef BRIG_TESTS_BPF_SIM_H
#define BRIG_TESTS_BPF_SIM_H

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>

#define SIM_BROKEN 0x12345678u /* no seccomp verdict: the program is not well formed */

static inline uint32_t sim_alu(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default:
		return b ? a / b : 0;
	}
}

static inline int sim_jump(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return (a & b) != 0;
	}
}

/* The verdict; *ret_steps (may be NULL) gets how many instructions it took. */
static inline uint32_t sim_run(const struct sock_filter *insns, uint32_t count, const struct seccomp_data *data,
			       unsigned *ret_steps)
{
	uint32_t a = 0, x = 0, mem[BPF_MEMWORDS] = { 0 };
	unsigned steps = 0;

	for (uint32_t pc = 0; pc < count; pc++) {
		const struct sock_filter *i = &insns[pc];
		uint32_t operand = i->code & BPF_X ? x : i->k;

		steps++;
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			if (BPF_MODE(i->code) == BPF_ABS) {
				if (BPF_SIZE(i->code) != BPF_W || i->k % 4 || i->k + 4 > sizeof(*data))
					return SIM_BROKEN;
				memcpy(&a, (const char *)data + i->k, 4);
			} else if (BPF_MODE(i->code) == BPF_IMM) {
				a = i->k;
			} else if (BPF_MODE(i->code) == BPF_MEM && i->k < BPF_MEMWORDS) {
				a = mem[i->k];
			} else {
				return SIM_BROKEN;
			}
			break;
		case BPF_ST:
			if (i->k >= BPF_MEMWORDS)
				return SIM_BROKEN;
			mem[i->k] = a;
			break;
		case BPF_ALU:
			a = sim_alu(BPF_OP(i->code), a, operand);
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA)
				pc += i->k;
			else
				pc += sim_jump(BPF_OP(i->code), a, operand) ? i->jt : i->jf;
			break;
		case BPF_RET:
			if (ret_steps)
				*ret_steps = steps;
			return BPF_RVAL(i->code) == BPF_A ? a : i->k;
		case BPF_MISC:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		default:
			return SIM_BROKEN;
		}
	}
	return SIM_BROKEN;
}

#endif
