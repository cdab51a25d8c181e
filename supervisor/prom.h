/* Printer of the Prometheus text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats), and the histogram
 * that goes with it. Pure. */
#ifndef BRIG_SUPERVISOR_PROM_H
#define BRIG_SUPERVISOR_PROM_H

#include "supervisor/wire/json.h"

#include <stdint.h>

#define PROM_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* From the quickest warm call to the longest wall limit that anyone sets. */
#define HISTOGRAM_BOUNDS { 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60 }
#define HISTOGRAM_BUCKETS 17

struct histogram {
	uint64_t at_most[HISTOGRAM_BUCKETS]; /* of each bucket alone, not cumulated; what is above all is in `count` only */
	uint64_t count, sum_ns;
};
void histogram_add(struct histogram *h, uint64_t ns);

struct prom_label {
	const char *name, *value; /* name NULL: none */
};
#define PROM_LABELS 2
#define PROM_NO_LABEL (const struct prom_label[PROM_LABELS]){ { 0 } }
#define PROM_LABEL(n, v) (const struct prom_label[PROM_LABELS]){ { (n), (v) } }
#define PROM_LABEL2(n, v, m, w) (const struct prom_label[PROM_LABELS]){ { (n), (v) }, { (m), (w) } }

/* Before the first sample of a family, once. type: counter, gauge or histogram. */
void prom_family(struct jbuf *b, const char *name, const char *type, const char *help);
void prom_sample(struct jbuf *b, const char *name, const struct prom_label *labels, uint64_t value);
void prom_seconds(struct jbuf *b, const char *name, const struct prom_label *labels, double seconds);
/* The _bucket, _sum and _count of one histogram; at most one label. */
void prom_histogram(struct jbuf *b, const char *name, const struct prom_label *label, const struct histogram *h);

#endif
