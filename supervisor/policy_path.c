#include "supervisor/policy_path.h"

#include <stddef.h>
#include <string.h>

/* Appends the parts of `path` to what *len bytes of ret hold already ("" is the root). */
static bool parts_add(char ret[PATH_MAX], size_t *len, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (*len > 0 && ret[--*len] != '/')
				;
		} else if (n > 0 && !(n == 1 && path[0] == '.')) {
			if (*len + n + 2 > PATH_MAX)
				return false;
			ret[(*len)++] = '/';
			memcpy(ret + *len, path, n);
			*len += n;
		}
		path += n + (path[n] == '/');
	}
	return true;
}

bool path_canonical(const char *from, const char *path, char ret[PATH_MAX])
{
	size_t len = 0;

	if (!*path || (*path != '/' && (!from || *from != '/')))
		return false;
	if ((*path != '/' && !parts_add(ret, &len, from)) || !parts_add(ret, &len, path))
		return false;
	if (len == 0)
		ret[len++] = '/';
	ret[len] = '\0';
	return true;
}

bool path_is_under(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1) /* the root */
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
