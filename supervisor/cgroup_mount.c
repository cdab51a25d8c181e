/* Where the hierarchies are mounted and where we sit in them: /proc/self/mountinfo
 * (proc(5)) and /proc/self/cgroup (cgroups(7)). */
#include "supervisor/cgroup_impl.h"

#include <stdio.h>
#include <string.h>

/* mountinfo writes blank, tab, new line and backslash as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* One mountinfo line; true if it is the hierarchy asked for. root and point lie inside line. */
static bool line_match(char *line, const char *controller, char **ret_root, char **ret_point)
{
	char *dash = strstr(line, " - "), *save, *field = NULL;

	if (!dash)
		return false;
	*dash = '\0';
	char *type = strtok_r(dash + 3, " \n", &save);
	(void)strtok_r(NULL, " \n", &save); /* the source */
	char *options = strtok_r(NULL, " \n", &save);
	if (!type || strcmp(type, controller ? "cgroup" : "cgroup2") != 0)
		return false;
	if (controller && (!options || !cgroup_list_has(options, controller)))
		return false;
	field = strtok_r(line, " ", &save); /* id */
	for (int i = 0; i < 2 && field; i++)
		field = strtok_r(NULL, " ", &save); /* parent, device */
	*ret_root = field ? strtok_r(NULL, " ", &save) : NULL;
	*ret_point = *ret_root ? strtok_r(NULL, " ", &save) : NULL;
	if (!*ret_point)
		return false;
	unescape(*ret_root);
	unescape(*ret_point);
	return true;
}

/* Our own path in that hierarchy, as our cgroup namespace shows it. */
static bool own_path(const char *controller, char *ret, size_t cap)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[1024];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		found = controller ? cgroup_list_has(list + 1, controller) : strncmp(line, "0:", 2) == 0;
		if (found && strlen(path) < cap)
			snprintf(ret, cap, "%s", path);
	}
	if (f)
		fclose(f);
	return found;
}

bool cgroup_mount_find(const char *controller, struct cgroup_mount *ret)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, root[256] = "", own[256] = "";
	size_t cap = 0;
	bool found = false;

	memset(ret, 0, sizeof(*ret));
	while (f && !ret->whole && getline(&line, &cap, f) > 0) {
		char *r, *p;
		if (!line_match(line, controller, &r, &p) || strlen(r) >= sizeof(root) || strlen(p) >= sizeof(ret->point))
			continue;
		if (found && strcmp(r, "/") != 0)
			continue;
		snprintf(root, sizeof(root), "%s", r);
		snprintf(ret->point, sizeof(ret->point), "%s", p);
		ret->whole = strcmp(r, "/") == 0;
		found = true;
	}
	free(line);
	if (f)
		fclose(f);
	if (!found)
		return false;
	size_t skip = ret->whole ? 0 : strlen(root);
	if (own_path(controller, own, sizeof(own)) && strncmp(own, root, skip) == 0 && !strstr(own, "/.."))
		snprintf(ret->own, sizeof(ret->own), "%s%s", ret->point, strcmp(own + skip, "/") == 0 ? "" : own + skip);
	return true;
}
