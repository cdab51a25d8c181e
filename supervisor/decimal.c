#include "supervisor/decimal.h"

#include <stdint.h>

/* A larger exponent than any text has digits; nobody means it. */
#define EXPONENT_MAX 1000000000000ll

/* 0.d1d2d3... times 10^point; digits begin and end with one that is not 0. The '.' may stand among them. */
struct decimal {
	const char *digits;
	size_t len;
	long long point;
	int sign; /* 0: it is zero */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool exponent_read(const char *s, size_t len, long long *ret)
{
	bool minus = len > 0 && *s == '-';
	long long n = 0;

	for (size_t i = minus || (len > 0 && *s == '+'); i < len; i++) {
		n = n * 10 + (s[i] - '0');
		if (n > EXPONENT_MAX)
			return false;
	}
	*ret = minus ? -n : n;
	return true;
}

static bool decimal_read(const char *s, size_t len, struct decimal *d)
{
	size_t at = len > 0 && *s == '-', end = at, point;

	d->sign = at ? -1 : 1;
	while (end < len && (is_digit(s[end]) || s[end] == '.'))
		end++;
	d->point = 0;
	if (end < len && !exponent_read(s + end + 1, len - end - 1, &d->point))
		return false;
	for (point = at; point < end && s[point] != '.';)
		point++;
	while (at < end && !(s[at] >= '1' && s[at] <= '9'))
		at++;
	while (end > at && !(s[end - 1] >= '1' && s[end - 1] <= '9'))
		end--;
	if (at == end)
		d->sign = 0;
	/* Of 0.001 the first digit stands two places behind the point. */
	d->point += at < point ? (long long)(point - at) : -(long long)(at - point - 1);
	d->digits = s + at;
	d->len = end - at;
	return true;
}

static char digit_next(const struct decimal *d, size_t *at)
{
	if (*at < d->len && d->digits[*at] == '.')
		++*at;
	return *at < d->len ? d->digits[(*at)++] : '\0';
}

static int magnitude_compare(const struct decimal *a, const struct decimal *b)
{
	size_t i = 0, j = 0;

	if (a->point != b->point)
		return a->point < b->point ? -1 : 1;
	for (;;) {
		char x = digit_next(a, &i), y = digit_next(b, &j);
		if (x != y)
			return x < y ? -1 : 1;
		if (!x)
			return 0;
	}
}

bool decimal_compare(const char *a_text, size_t a_len, const char *b_text, size_t b_len, int *ret)
{
	struct decimal a, b;

	if (!decimal_read(a_text, a_len, &a) || !decimal_read(b_text, b_len, &b))
		return false;
	if (a.sign != b.sign || a.sign == 0)
		*ret = (a.sign > b.sign) - (a.sign < b.sign);
	else
		*ret = a.sign * magnitude_compare(&a, &b);
	return true;
}
