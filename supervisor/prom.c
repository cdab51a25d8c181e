#include "supervisor/prom.h"

#include "jail/base/compiler.h"

#include <stdio.h>
#include <string.h>

static const double bounds[] = HISTOGRAM_BOUNDS;
_Static_assert(ARRAY_LEN(bounds) == HISTOGRAM_BUCKETS, "a bound for each bucket");

void histogram_add(struct histogram *h, uint64_t ns)
{
	double s = (double)ns / 1e9;

	h->count++;
	h->sum_ns += ns;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (s <= bounds[i]) {
			h->at_most[i]++;
			return;
		}
}

void prom_family(struct jbuf *b, const char *name, const char *type, const char *help)
{
	jbuf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Three characters are escaped in a label's value; what else it holds is UTF-8 by its origin. */
static void label_put(struct jbuf *b, const struct prom_label *l)
{
	jbuf_text(b, l->name);
	jbuf_text(b, "=\"");
	for (const char *p = l->value; *p; p++) {
		if (*p == '\n')
			jbuf_text(b, "\\n");
		else if (*p == '"' || *p == '\\')
			jbuf_printf(b, "\\%c", *p);
		else
			jbuf_raw(b, p, 1);
	}
	jbuf_text(b, "\"");
}

static void name_put(struct jbuf *b, const char *name, const struct prom_label *labels)
{
	jbuf_text(b, name);
	for (unsigned i = 0; i < PROM_LABELS && labels[i].name; i++) {
		jbuf_text(b, i ? "," : "{");
		label_put(b, &labels[i]);
	}
	if (labels[0].name)
		jbuf_text(b, "}");
}

void prom_sample(struct jbuf *b, const char *name, const struct prom_label *labels, uint64_t value)
{
	name_put(b, name, labels);
	jbuf_printf(b, " %llu\n", (unsigned long long)value);
}

void prom_seconds(struct jbuf *b, const char *name, const struct prom_label *labels, double seconds)
{
	name_put(b, name, labels);
	jbuf_printf(b, " %.15g\n", seconds);
}

void prom_histogram(struct jbuf *b, const char *name, const struct prom_label *label, const struct histogram *h)
{
	char part[80], le[24];
	uint64_t sum = 0;
	struct prom_label with[PROM_LABELS] = { label[0] };
	struct prom_label *bound = &with[label[0].name ? 1 : 0];

	*bound = (struct prom_label){ "le", le };
	snprintf(part, sizeof(part), "%s_bucket", name);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		sum += h->at_most[i];
		snprintf(le, sizeof(le), "%g", bounds[i]);
		prom_sample(b, part, with, sum);
	}
	snprintf(le, sizeof(le), "+Inf");
	prom_sample(b, part, with, h->count);
	snprintf(part, sizeof(part), "%s_sum", name);
	prom_seconds(b, part, label, (double)h->sum_ns / 1e9);
	snprintf(part, sizeof(part), "%s_count", name);
	prom_sample(b, part, label, h->count);
}
