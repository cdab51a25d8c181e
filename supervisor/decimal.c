#include "supervisor/decimal.h"

#include <errno.h>

/* Sums of an exponent and of a count of digits stay far from the ends of an int64_t. */
enum { EXPONENT_DIGITS = 12 };

static int read_exponent(const char *p, const char *end, int64_t *ret)
{
	bool negative = p < end && *p == '-';
	int64_t value = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	while (p < end && *p == '0')
		p++;
	if (end - p > EXPONENT_DIGITS)
		return -ERANGE;
	for (; p < end; p++)
		value = value * 10 + (*p - '0');
	*ret = negative ? -value : value;
	return 0;
}

int decimal_read(const char *text, size_t len, struct decimal *ret)
{
	const char *p = text, *end = text + len, *first = NULL;
	int64_t before_point = -1, seen = 0, leading = 0, last = 0, exponent = 0;
	struct decimal d = { .negative = len && text[0] == '-' };
	int r = 0;

	for (p += d.negative; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			before_point = seen;
			continue;
		}
		if (*p != '0') {
			leading = first ? leading : seen;
			first = first ? first : p;
			last = seen + 1;
		}
		seen++;
	}
	if (!first) {
		*ret = (struct decimal){ 0 };
		return 0;
	}
	if (p < end)
		r = read_exponent(p + 1, end, &exponent);
	d.digits = first;
	d.count = (size_t)(last - leading);
	d.exp = (before_point < 0 ? seen : before_point) - leading + exponent;
	*ret = d;
	return r;
}

/* The digit at *p, which moves on over a point. */
static int next_digit(const char **p)
{
	if (**p == '.')
		(*p)++;
	return *(*p)++ - '0';
}

static int compare_magnitude(const struct decimal *a, const struct decimal *b)
{
	const char *x = a->digits, *y = b->digits;

	if (a->count == 0 || b->count == 0)
		return (a->count > 0) - (b->count > 0);
	if (a->exp != b->exp)
		return a->exp < b->exp ? -1 : 1;
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		int order = next_digit(&x) - next_digit(&y);

		if (order)
			return order;
	}
	return (a->count > b->count) - (a->count < b->count);
}

int decimal_order(const struct decimal *a, const struct decimal *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? compare_magnitude(b, a) : compare_magnitude(a, b);
}

bool decimal_compare(const char *a_text, size_t a_len, const char *b_text, size_t b_len, int *ret)
{
	struct decimal a, b;
	int order;

	if (decimal_read(a_text, a_len, &a) < 0 || decimal_read(b_text, b_len, &b) < 0)
		return false;
	order = decimal_order(&a, &b);
	*ret = (order > 0) - (order < 0);
	return true;
}

bool decimal_is_integer(const struct decimal *d)
{
	return d->count == 0 || (d->exp > 0 && (uint64_t)d->exp >= d->count);
}

uint64_t decimal_u64(const struct decimal *d)
{
	const char *p = d->digits;
	uint64_t value = 0;

	if (d->count == 0)
		return 0;
	for (int64_t i = 0; i < d->exp; i++) {
		uint64_t digit = (size_t)i < d->count ? (uint64_t)next_digit(&p) : 0;

		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
			return UINT64_MAX;
	}
	return value;
}

uint64_t decimal_hash(const struct decimal *d)
{
	uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)d->exp ^ (d->negative ? 1u << 31 : 0);
	const char *p = d->digits;

	for (size_t i = 0; i < d->count; i++)
		hash = (hash ^ (uint64_t)next_digit(&p)) * 0x100000001b3u;
	return hash;
}

int divisor_read(const struct decimal *d, struct divisor *ret)
{
	const char *p = d->digits;

	if (d->count > 18)
		return -ERANGE;
	*ret = (struct divisor){ .exp = d->exp - (int64_t)d->count };
	for (size_t i = 0; i < d->count; i++)
		ret->digits = ret->digits * 10 + (uint64_t)next_digit(&p);
	return 0;
}

static uint64_t multiply_mod(uint64_t a, uint64_t b, uint64_t m)
{
	return (uint64_t)((unsigned __int128)a * b % m);
}

static uint64_t power_mod(uint64_t base, uint64_t power, uint64_t m)
{
	uint64_t value = 1 % m;

	for (base %= m; power; power >>= 1) {
		if (power & 1)
			value = multiply_mod(value, base, m);
		base = multiply_mod(base, base, m);
	}
	return value;
}

bool decimal_is_multiple(const struct decimal *d, const struct divisor *of)
{
	int64_t shift = d->exp - (int64_t)d->count - of->exp;
	const char *p = d->digits;
	uint64_t rest = 0;

	if (d->count == 0)
		return true;
	/* The last digit is not 0, so ten does not divide them; a multiple of the divisor would be one of ten. */
	if (shift < 0)
		return false;
	for (size_t i = 0; i < d->count; i++)
		rest = (multiply_mod(rest, 10, of->digits) + (uint64_t)next_digit(&p)) % of->digits;
	return multiply_mod(rest, power_mod(10, (uint64_t)shift, of->digits), of->digits) == 0;
}
