/* brigd --print-config: what holds, and why. */
#include "supervisor/config_impl.h"

#include <string.h>

static void print_uids(FILE *out, const uint32_t *uids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fprintf(out, "%s%u", i ? " " : "", uids[i]);
}

static void print_users(FILE *out, const struct config_socket *s)
{
	if (s->any_uid)
		fputs("*", out);
	print_uids(out, s->uids, s->uid_count);
}

static void print_names(FILE *out, const struct config_names *n)
{
	if (n->any)
		fputs("*", out);
	for (uint32_t i = 0; !n->any && i < n->count; i++)
		fprintf(out, "%s%s", i ? " " : "", n->name[i]);
}

static void print_choice(FILE *out, const char *choices, uint32_t index)
{
	while (index--)
		choices = strchr(choices, '|') + 1;
	fprintf(out, "%.*s", (int)strcspn(choices, "|"), choices);
}

static void print_number(FILE *out, const struct config_key *key, const void *field)
{
	char text[32];

	config_number_print(key, key->kind == CONFIG_BYTES ? *(const uint64_t *)field : *(const uint32_t *)field, text);
	fputs(text, out);
}

static void print_value(FILE *out, const struct config_key *key, const void *field)
{
	switch (key->kind) {
	case CONFIG_DIR:
	case CONFIG_FILES:
	case CONFIG_URL:
	case CONFIG_PROFILE: fputs(field, out); break;
	case CONFIG_SOCKET: fputs(strrchr(field, '/') ? strrchr(field, '/') + 1 : (const char *)field, out); break;
	case CONFIG_USER:
	case CONFIG_GROUP: fprintf(out, "%u", *(const uint32_t *)field); break;
	case CONFIG_MODE: fprintf(out, "%04o", *(const uint32_t *)field); break;
	case CONFIG_USERS: print_users(out, field); break;
	case CONFIG_UIDS: print_uids(out, ((const struct config_uids *)field)->uid, ((const struct config_uids *)field)->count); break;
	case CONFIG_BOOL: fputs(*(const bool *)field ? "yes" : "no", out); break;
	case CONFIG_PROFILES: print_names(out, field); break;
	case CONFIG_CHOICE: print_choice(out, key->choices, *(const uint32_t *)field); break;
	case CONFIG_COUNT:
	case CONFIG_BYTES:
	case CONFIG_TIME: print_number(out, key, field); break;
	}
}

static bool is_empty(const struct config_key *key, const void *field)
{
	const struct config_socket *s = field;
	const struct config_names *n = field;

	switch (key->kind) {
	case CONFIG_USERS: return !s->any_uid && s->uid_count == 0;
	case CONFIG_UIDS: return ((const struct config_uids *)field)->count == 0;
	case CONFIG_PROFILES: return !n->any && n->count == 0;
	case CONFIG_DIR:
	case CONFIG_URL:
	case CONFIG_FILES: return *(const char *)field == '\0';
	default: return false;
	}
}

void config_print(const struct config *c, const struct config_origin *origin, FILE *out)
{
	for (size_t i = 0; config_keys[i].name; i++) {
		const struct config_key *key = &config_keys[i];
		const void *field = (const char *)c + key->offset;

		fprintf(out, "%s%s =", is_empty(key, field) ? "# " : "", key->name);
		if (!is_empty(key, field)) {
			fputc(' ', out);
			print_value(out, key, field);
		}
		if (origin->at[i].line)
			fprintf(out, "  # %s:%u\n", c->path, origin->at[i].line);
		else
			fprintf(out, "  # default\n");
	}
}
