/* The effective profile as JSON with comments: it can be read back as a profile,
 * and each line that holds a value ends with where the value was said. */
#include "supervisor/profile_impl.h"

#include "supervisor/wire/json.h"

#include <stdio.h>
#include <string.h>

#define PRINT_MAX (1u << 20) /* a profile of the largest size, indented and with its origins */
#define COMMENT_COLUMN 64

struct printer {
	const struct profile *profile;
	struct jbuf out;
	size_t line_start;
	const cJSON *origin; /* what the line that is being written should name */
};

static void end_line(struct printer *p, const char *comma)
{
	jbuf_text(&p->out, comma);
	if (p->origin && !p->out.failed) {
		size_t width = p->out.len - p->line_start;

		jbuf_printf(&p->out, "%*s// %s", (int)(width < COMMENT_COLUMN ? COMMENT_COLUMN - width : 1), "",
			    origin_of(&p->profile->origins, p->origin)->brief);
	}
	jbuf_text(&p->out, "\n");
	p->line_start = p->out.len;
	p->origin = NULL;
}

static void indent(struct printer *p, unsigned level)
{
	jbuf_printf(&p->out, "%*s", (int)(level * 2), "");
}

static void print_scalar(struct printer *p, const cJSON *node)
{
	if (cJSON_IsString(node))
		jbuf_cstring(&p->out, node->valuestring);
	else if (cJSON_IsNumber(node))
		jbuf_printf(&p->out, "%.15g", node->valuedouble);
	else
		jbuf_text(&p->out, cJSON_IsTrue(node) ? "true" : cJSON_IsFalse(node) ? "false" : "null");
}

/* Elements of files.mounts and syscalls.allow, and lists of names, stand on one line. */
static void print_flat(struct printer *p, const cJSON *node)
{
	bool object = cJSON_IsObject(node);

	if (!object && !cJSON_IsArray(node)) {
		print_scalar(p, node);
		return;
	}
	jbuf_text(&p->out, object ? "{ " : "[");
	for (const cJSON *child = node->child; child; child = child->next) {
		if (object) {
			jbuf_cstring(&p->out, child->string);
			jbuf_text(&p->out, ": ");
		}
		print_flat(p, child);
		jbuf_text(&p->out, child->next ? ", " : "");
	}
	jbuf_text(&p->out, object ? " }" : "]");
}

static bool is_list_of_objects(const cJSON *node)
{
	return cJSON_IsArray(node) && cJSON_IsObject(node->child);
}

static void print_member(struct printer *p, const cJSON *node, unsigned level, const char *comma)
{
	bool deep = is_list_of_objects(node) || (cJSON_IsObject(node) && level == 1);

	indent(p, level);
	if (node->string) {
		jbuf_cstring(&p->out, node->string);
		jbuf_text(&p->out, ": ");
	}
	if (!deep) {
		print_flat(p, node);
		p->origin = node;
		end_line(p, comma);
		return;
	}
	jbuf_text(&p->out, cJSON_IsArray(node) ? "[" : "{");
	end_line(p, "");
	for (const cJSON *child = node->child; child; child = child->next)
		print_member(p, child, level + 1, child->next ? "," : "");
	indent(p, level);
	jbuf_text(&p->out, cJSON_IsArray(node) ? "]" : "}");
	end_line(p, comma);
}

static const char *const own[] = { "name", "why", "extends" };

static bool is_own(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strcmp(own[i], key) == 0)
			return true;
	return false;
}

/* The merge leaves them last; people look for them first. */
static void print_own(struct printer *p)
{
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		const cJSON *node = tree_at(p->profile->tree, own[i]);
		if (node)
			print_member(p, node, 1, ",");
	}
}

static bool more_follow(const cJSON *node)
{
	for (node = node->next; node; node = node->next)
		if (!is_own(node->string))
			return true;
	return false;
}

char *profile_print(const struct profile *profile)
{
	struct printer p = { .profile = profile };

	jbuf_init(&p.out, PRINT_MAX);
	jbuf_text(&p.out, "{");
	end_line(&p, "");
	print_own(&p);
	for (const cJSON *child = profile->tree->child; child; child = child->next)
		if (!is_own(child->string))
			print_member(&p, child, 1, more_follow(child) ? "," : "");
	jbuf_text(&p.out, "}\n");
	return p.out.failed ? NULL : take_ptr(p.out.data);
}
