#include "agent/options.h"

#include "agent/nearest.h"
#include "agent/text.h"

#include <string.h>

#define WORD_SHOWN 64

static const struct option opt_help = { "--help", NULL, "show this text", offsetof(struct options, help) };

static bool *flag_at(struct options *opt, const struct option *o)
{
	return (bool *)((char *)opt + o->offset);
}

static const char **value_at(struct options *opt, const struct option *o)
{
	return (const char **)((char *)opt + o->offset);
}

bool options_is_later(const struct verb *verb, const char *word)
{
	char spaced[WORD_SHOWN];
	int n = snprintf(spaced, sizeof(spaced), " %s ", word);

	return verb->later && n > 2 && (size_t)n < sizeof(spaced) && !strchr(word, ' ') && strstr(verb->later, spaced);
}

static const struct option *option_find(const struct verb *verb, const char *name, size_t len)
{
	for (const struct option *o = verb->options; o && o->name; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	if ((len == 6 && memcmp(name, "--help", 6) == 0) || (len == 2 && memcmp(name, "-h", 2) == 0))
		return &opt_help;
	return NULL;
}

static int option_unknown(const struct verb *verb, const char *arg, size_t len, struct err *err)
{
	char shown[WORD_SHOWN], name[WORD_SHOWN];
	struct nearest near = { .word = name };

	snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), arg);
	text_quote(shown, sizeof(shown), name);
	if (options_is_later(verb, name)) {
		err_set(err, ERR_CALLER, EINVAL, "command line", "option %s of '%s' is not in this version", shown,
			verb->name);
		err_hint(err, "'brig %s --help' lists what there is", verb->name);
		return -EINVAL;
	}
	for (const struct option *o = verb->options; o && o->name; o++)
		nearest_try(&near, o->name);
	nearest_try(&near, opt_help.name);
	err_set(err, ERR_CALLER, EINVAL, "command line", "unknown option %s", shown);
	if (near.best)
		err_hint(err, "did you mean '%s'?", near.best);
	else
		err_hint(err, "'brig %s --help' lists the options", verb->name);
	return -EINVAL;
}

/* Takes argv[*i], an option, and its value if it has one. */
static int option_take(
	const struct verb *verb, int argc, char *const argv[], int *i, struct options *opt, struct err *err)
{
	const char *arg = argv[*i], *equals = strchr(arg, '=');
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct option *o = option_find(verb, arg, len);

	if (!o)
		return option_unknown(verb, arg, len, err);
	if (!o->value) {
		if (equals)
			return err_set(err, ERR_CALLER, EINVAL, "command line", "option '%s' takes no value", o->name);
		*flag_at(opt, o) = true;
		return 0;
	}
	if (*value_at(opt, o))
		return err_set(err, ERR_CALLER, EINVAL, "command line", "option '%s' is given twice", o->name);
	if (equals) {
		*value_at(opt, o) = equals + 1;
		return 0;
	}
	/* A forgotten value must not swallow the next option; one that really begins so can be given after '='. */
	if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0)
		return err_set(
			err, ERR_CALLER, EINVAL, "command line", "option '%s' needs a value: %s", o->name, o->value);
	*value_at(opt, o) = argv[++*i];
	return 0;
}

static int operand_take(const struct verb *verb, const char *arg, struct options *opt, struct err *err)
{
	char shown[WORD_SHOWN];

	if (opt->operands < verb->max_operands) {
		opt->operand[opt->operands++] = arg;
		return 0;
	}
	text_quote(shown, sizeof(shown), arg);
	err_set(err, ERR_CALLER, EINVAL, "command line", "one argument too many: %s", shown);
	err_hint(err, "usage: brig %s %s", verb->name, verb->operands);
	return -EINVAL;
}

int options_parse(const struct verb *verb, int argc, char *const argv[], struct options *ret, struct err *err)
{
	bool ended = false;
	int r = 0;

	*ret = (struct options){ 0 };
	for (int i = 0; i < argc; i++) {
		bool is_option = !ended && argv[i][0] == '-' && argv[i][1];
		struct err *e =
			r ? NULL : err; /* the first error is told; the rest is read for --json and --help only */

		if (is_option && strcmp(argv[i], "--") == 0) {
			ended = true;
			continue;
		}
		if (is_option ? option_take(verb, argc, argv, &i, ret, e) : operand_take(verb, argv[i], ret, e))
			r = -EINVAL;
	}
	if (r || ret->help || ret->operands >= verb->min_operands)
		return r;
	err_set(err, ERR_CALLER, EINVAL, "command line", "'%s' needs %s", verb->name, verb->operands);
	err_hint(err, "for example: %s", verb->example);
	return -EINVAL;
}

void options_help(const struct verb *verb, FILE *out)
{
	const struct option *o = verb->options;

	fprintf(out, "usage: brig %s%s%s%s\n\n%s\n\noptions:\n", verb->name, *verb->operands ? " " : "", verb->operands,
		o && o->name ? " [options]" : "", verb->summary);
	for (;; o++) {
		bool last = !o || !o->name;
		const struct option *p = last ? &opt_help : o;
		int n = fprintf(out, "  %s%s%s", p->name, p->value ? " " : "", p->value ? p->value : "");

		fprintf(out, "%s%*s%s\n", n > 28 ? "\n" : "", n > 28 ? 29 : 29 - n, "", p->help);
		if (last)
			break;
	}
	if (verb->details)
		fprintf(out, "\n%s\n", verb->details);
	fprintf(out, "\nexample:\n  %s\n", verb->example);
}
