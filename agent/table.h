/* A list of JSON objects as a table that fits 80 columns. */
#ifndef BRIG_AGENT_TABLE_H
#define BRIG_AGENT_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum table_kind {
	TABLE_TEXT,   /* to the left; escaped, and cut with ~ where it does not fit */
	TABLE_NUMBER, /* to the right; as it is written */
	TABLE_TIME,   /* to the right; milliseconds, shown as 450ms, 12.3s, 3m20s, 5h10m, 2d4h */
};

struct table_column {
	const char *title; /* NULL ends the columns */
	const char *key;   /* of the object; null, or none: "-" */
	int width;
	enum table_kind kind;
};

/* A head line and one line for each object of the list at the path; the number of these. Without any, nothing is printed. */
unsigned table_show(FILE *out, const char *json, size_t len, const char *path, const struct table_column *columns);

/* A time as the table shows it. */
void time_print(char *buf, size_t cap, double ms);

#endif
