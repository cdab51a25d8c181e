#include "supervisor/log_line.h"

#include "supervisor/wire/utf8.h"

#include <stdio.h>
#include <string.h>

/* Kept free for what has to close a line: a quote, two braces, the end, and the mark of a cut. */
#define CLOSE_ROOM 16
/* The longest escape of one character. */
#define ESCAPE_MAX 6

enum form { FORM_TEXT, FORM_JSON };

static const char *const level_names[] = { "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug" };

static bool room_for(const struct log_line *l, size_t n)
{
	return l->len + n + CLOSE_ROOM <= sizeof(l->data);
}

/* Fixed texts of ours; all of it or nothing. */
static bool put(struct log_line *l, const char *text)
{
	size_t n = strlen(text);

	if (!room_for(l, n))
		return false;
	memcpy(l->data + l->len, text, n);
	l->len += n;
	return true;
}

/* What closes a line always finds its room. */
static void put_close(struct log_line *l, const char *text)
{
	size_t n = strlen(text);

	memcpy(l->data + l->len, text, n);
	l->len += n;
}

/* C0, DEL and C1 would act on a terminal. In JSON quotes and backslashes are escaped as well. */
static bool needs_escape(const unsigned char *p, int step, enum form form)
{
	if (step == 1)
		return *p < 0x20 || *p == 0x7f || (form == FORM_JSON && (*p == '"' || *p == '\\'));
	return step == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

static void put_escaped(struct log_line *l, const char *text, enum form form)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text);
	char esc[ESCAPE_MAX + 1];

	while (left > 0) {
		int step = utf8_step(p, left);
		size_t n = (size_t)(step < 0 ? -step : step);

		if (!room_for(l, ESCAPE_MAX)) {
			put_close(l, "...");
			return;
		}
		if (step < 0)
			put(l, "\xef\xbf\xbd");
		else if (needs_escape(p, step, form)) {
			if (form == FORM_JSON && n == 1 && (*p == '"' || *p == '\\'))
				snprintf(esc, sizeof(esc), "\\%c", *p);
			else
				snprintf(esc, sizeof(esc), form == FORM_JSON ? "\\u%04x" : "\\x%02x", n == 1 ? p[0] : p[1]);
			put(l, esc);
		} else {
			memcpy(l->data + l->len, p, n);
			l->len += n;
		}
		p += n;
		left -= n;
	}
}

static void put_number(struct log_line *l, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	put(l, text);
}

/* Days since 1970-01-01 to a date of the Gregorian calendar. gmtime_r would look for the host's time zone, for
 * which core has no right and the keeper no need. */
static void civil_date(int64_t days, int *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	int64_t z = days + 719468; /* from 0000-03-01, so that a leap day is a year's last */
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	unsigned day_of_era = (unsigned)(z - era * 146097);
	unsigned year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned month = (5 * day_of_year + 2) / 153;

	*ret_day = day_of_year - (153 * month + 2) / 5 + 1;
	*ret_month = month < 10 ? month + 3 : month - 9;
	*ret_year = (int)(year_of_era + era * 400) + (*ret_month <= 2);
}

static void put_time(struct log_line *l, const struct timespec *t)
{
	int64_t days = t->tv_sec / 86400, sec = t->tv_sec % 86400;
	char text[48];
	unsigned month, day;
	int year;

	civil_date(days, &year, &month, &day);
	snprintf(text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02d.%06ldZ", year, month, day, (int)(sec / 3600),
		 (int)(sec / 60 % 60), (int)(sec % 60), t->tv_nsec / 1000);
	put(l, text);
}

void log_line_text(struct log_line *l, const struct log_entry *e)
{
	const char *sep = " (";

	l->len = 0;
	put(l, "brigd: ");
	if (e->process[0]) {
		put(l, e->process);
		put(l, ": ");
	}
	put_escaped(l, e->message, FORM_TEXT);
	for (const struct log_field *f = e->fields; f->name && room_for(l, strlen(f->name) + ESCAPE_MAX); f++) {
		put(l, sep);
		put(l, f->name);
		put(l, "=");
		if (f->text)
			put_escaped(l, f->text, FORM_TEXT);
		else
			put_number(l, f->number);
		sep = ", ";
	}
	if (e->dropped && put(l, sep)) {
		put(l, "lines_lost=");
		put_number(l, e->dropped);
		sep = ", ";
	}
	put_close(l, sep[0] == ',' ? ")\n" : "\n");
}

static void json_string(struct log_line *l, const char *key, const char *value)
{
	if (!room_for(l, strlen(key) + 8 + ESCAPE_MAX))
		return;
	put(l, key);
	put(l, ":\"");
	put_escaped(l, value, FORM_JSON);
	put_close(l, "\"");
}

/* One that does not fit begins no half member. */
static bool json_field(struct log_line *l, const char *sep, const struct log_field *f)
{
	char key[64];

	snprintf(key, sizeof(key), "%s\"%s\"", sep, f->name);
	if (!room_for(l, strlen(key) + 24 + ESCAPE_MAX))
		return false;
	if (f->text) {
		json_string(l, key, f->text);
	} else {
		put(l, key);
		put(l, ":");
		put_number(l, f->number);
	}
	return true;
}

void log_line_json(struct log_line *l, const struct log_entry *e)
{
	const struct log_field lost = LOG_NUM("lines_lost", e->dropped);
	const char *sep = "";

	l->len = 0;
	put(l, "{\"time\":\"");
	put_time(l, &e->time);
	put(l, "\"");
	json_string(l, ",\"level\"", level_names[e->level & LOG_PRIMASK]);
	json_string(l, ",\"process\"", e->process[0] ? e->process : "brigd");
	put(l, ",\"pid\":");
	put_number(l, e->pid);
	json_string(l, ",\"event\"", e->event);
	json_string(l, ",\"message\"", e->message);
	if ((e->fields->name || e->dropped) && put(l, ",\"fields\":{")) {
		for (const struct log_field *f = e->fields; f->name; f++)
			if (json_field(l, sep, f))
				sep = ",";
		if (e->dropped)
			(void)json_field(l, sep, &lost);
		put_close(l, "}");
	}
	put_close(l, "}\n");
}

static void journal_field(struct log_line *l, const char *prefix, const char *name, const char *value)
{
	if (!room_for(l, strlen(prefix) + strlen(name) + 8 + ESCAPE_MAX))
		return;
	put(l, prefix);
	for (; *name; name++)
		l->data[l->len++] = (char)(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
	put(l, "=");
	put_escaped(l, value, FORM_TEXT);
	put_close(l, "\n");
}

static void journal_number(struct log_line *l, const char *prefix, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	journal_field(l, prefix, name, text);
}

void log_line_journal(struct log_line *l, const struct log_entry *e)
{
	l->len = 0;
	journal_number(l, "", "PRIORITY", e->level & LOG_PRIMASK);
	journal_field(l, "", "SYSLOG_IDENTIFIER", "brigd");
	journal_field(l, "BRIG_", "EVENT", e->event);
	if (e->process[0])
		journal_field(l, "BRIG_", "PROCESS", e->process);
	journal_field(l, "", "MESSAGE", e->message);
	for (const struct log_field *f = e->fields; f->name; f++) {
		if (f->text)
			journal_field(l, "BRIG_", f->name, f->text);
		else
			journal_number(l, "BRIG_", f->name, f->number);
	}
	if (e->dropped)
		journal_number(l, "BRIG_", "lines_lost", e->dropped);
}
