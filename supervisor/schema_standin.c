/* Stands in for the schema module until that is here: enforces nothing. Its symbols are weak; goes when schema.c comes. */
#include "supervisor/schema.h"
#include "supervisor/wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct schema { char *t; size_t n; char *names[100]; bool req[100]; size_t count; bool open, object; };
__attribute__((weak)) int schema_compile(const char *text, size_t len, struct schema **ret, struct err *err)
{
	(void)err;
	struct schema *s = calloc(1, sizeof(*s));
	size_t at, n; struct json_member m;
	s->object = json_find(text, len, "type", &at, &n, NULL) && n == 8 && !memcmp(text + at, "\"object\"", 8);
	s->open = !(json_find(text, len, "additionalProperties", &at, &n, NULL) && text[at] == 'f');
	if (json_find(text, len, "properties", &at, &n, NULL)) {
		while (json_member_next(text, len, &at, &m) && s->count < 100) {
			s->names[s->count] = strndup(text + m.key, m.key_len);
			for (int i = 0; i < 100; i++) {
				char p[32]; size_t a, l;
				snprintf(p, sizeof(p), "required.%d", i);
				if (!json_find(text, len, p, &a, &l, NULL)) break;
				if (l == m.key_len + 2 && !memcmp(text + a + 1, text + m.key, m.key_len)) s->req[s->count] = true;
			}
			s->count++;
		}
	}
	*ret = s;
	return 0;
}
__attribute__((weak)) void schema_free(struct schema *s) { if (!s) return; for (size_t i = 0; i < s->count; i++) free(s->names[i]); free(s); }
__attribute__((weak)) int schema_check(const struct schema *s, const char *text, size_t len, struct err *err) { (void)s; (void)text; (void)len; (void)err; return 0; }
__attribute__((weak)) bool schema_is_object(const struct schema *s) { return s->object; }
__attribute__((weak)) const char *schema_property(const struct schema *s, size_t i, bool *r) { if (i >= s->count) return NULL; *r = s->req[i]; return s->names[i]; }
__attribute__((weak)) bool schema_is_open(const struct schema *s) { return s->open; }
