/* Proves a jail_spec before anything believes it. Pure: no allocation, no system
 * call, no locale; called by core before sealing and by the zygote before use. */
#include "jail/spec.h"

#include "jail/base/compiler.h"

#include <stddef.h>
#include <string.h>

/* The longest a call may be planned: a day. What is longer is a mistake in units. */
#define WALL_MS_MAX (24u * 60 * 60 * 1000)
#define SIZE_MAX_BYTES (1ull << 46) /* 64 TiB: more is a wrapped subtraction */
#define PAGE_BYTES 4096u
#define STACK_MIN_BYTES (128u << 10) /* below that the interpreter's own C stack overflows */
#define MEMORY_MIN_BYTES (1u << 20)
#define OPEN_FILES_MIN 8u /* 0 to 5 are taken, Python needs one to import with */
#define OPEN_FILES_MAX (1u << 20)
#define PIDS_MAX (1u << 22) /* PID_MAX_LIMIT of the kernel */
#define TMP_INODES_MAX (1u << 24)
#define OUTPUT_MAX_BYTES (1u << 30)
#define QUOTA_PCT_MAX 100000u

/* Targets of the zygote's or the jail's own: hiding one of them would undo a layer. /dev/shm is the shm flag's. */
static const char *const own_places[] = { "/proc", "/sys", "/dev", "/run", "/var/run", "/tmp", "/newroot" };
/* Sources that show the host itself: its processes, its kernel's knobs, its devices, its daemons' sockets. */
static const char *const host_places[] = { "/proc", "/sys", "/dev", "/run", "/var/run" };

/* Terminated inside cap bytes, and nothing but zeros after: two specs that mean the same are the same bytes. */
static bool text_ends(const char *s, size_t cap)
{
	size_t len = strnlen(s, cap);

	for (size_t i = len; i < cap; i++)
		if (s[i] != '\0')
			return false;
	return len < cap;
}

/* No empty, "." or ".." component, no slash at the end, no control character. */
static bool components_normal(const char *p)
{
	for (;;) {
		size_t len = strcspn(p, "/");
		if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)
				return false;
		if (p[len] == '\0')
			return true;
		p += len + 1;
	}
}

/* Absolute and below "/": the root itself is neither shown nor replaced. */
static bool path_normal(const char *path)
{
	return path[0] == '/' && components_normal(path + 1);
}

/* path is `place` or lies below it. */
static bool path_within(const char *path, const char *place)
{
	size_t len = strlen(place);

	return strncmp(path, place, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool path_in_any(const char *path, const char *const *places, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (path_within(path, places[i]))
			return true;
	return false;
}

static const char *mount_check(const struct spec_mount *m)
{
	if (!text_ends(m->from, sizeof(m->from)) || !text_ends(m->to, sizeof(m->to)))
		return "mount: a path is not terminated";
	if (m->flags & ~(uint32_t)SPEC_MOUNT_FLAGS_ALL)
		return "mount: unknown flag";
	if (!path_normal(m->to))
		return "mount: \"to\" is not an absolute, normalised path below /";
	if (path_in_any(m->to, own_places, ARRAY_LEN(own_places)))
		return "mount: \"to\" is a place of the jail's own";
	if (m->flags & SPEC_MOUNT_SYMLINK) {
		if (m->flags != SPEC_MOUNT_SYMLINK)
			return "mount: a symlink has no other flag";
		/* A link's text is resolved inside the jail only; a relative one ("usr/lib") is how /lib is made on merged-usr hosts. */
		if (!components_normal(m->from[0] == '/' ? m->from + 1 : m->from))
			return "mount: symlink text is empty or not normalised";
		return NULL;
	}
	if ((m->flags & SPEC_MOUNT_ABSENT) && !(m->flags & SPEC_MOUNT_WORKSPACE))
		return "mount: only a workspace can be absent";
	if (!path_normal(m->from))
		return "mount: \"from\" is not an absolute, normalised path below /";
	if (path_in_any(m->from, host_places, ARRAY_LEN(host_places)))
		return "mount: \"from\" shows the host's /proc, /sys, /dev or /run";
	if ((m->flags & SPEC_MOUNT_RW) && (m->flags & SPEC_MOUNT_EXEC))
		return "mount: writable and executable at once";
	return NULL;
}

static const char *mounts_check(const struct jail_spec *spec)
{
	static const struct spec_mount empty;

	if (spec->mount_count > SPEC_MOUNTS_MAX)
		return "too many mounts";
	for (uint32_t i = 0; i < spec->mount_count; i++) {
		const char *why = mount_check(&spec->mounts[i]);
		if (why)
			return why;
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(spec->mounts[i].to, spec->mounts[k].to) == 0)
				return "mount: the same \"to\" twice";
	}
	for (uint32_t i = spec->mount_count; i < SPEC_MOUNTS_MAX; i++)
		if (memcmp(&spec->mounts[i], &empty, sizeof(empty)) != 0)
			return "mount: bytes behind the last one";
	return NULL;
}

static bool in_range(uint64_t v, uint64_t min, uint64_t max)
{
	return v >= min && v <= max;
}

static const char *limits_check(const struct jail_spec *spec)
{
	const struct spec_limits *l = &spec->limits;

	if (!in_range(l->memory_bytes, MEMORY_MIN_BYTES, SIZE_MAX_BYTES))
		return "limits: memory out of range";
	/* tmpfs(5): size=0 and nr_inodes=0 mean "no limit". No size at all means no /tmp. */
	if (l->tmp_bytes != 0 && !in_range(l->tmp_bytes, PAGE_BYTES, SIZE_MAX_BYTES))
		return "limits: tmp out of range";
	if (l->tmp_bytes != 0 && !in_range(l->tmp_inodes, 2, TMP_INODES_MAX))
		return "limits: tmp_inodes out of range";
	if ((spec->flags & SPEC_SHM) && !in_range(l->shm_bytes, PAGE_BYTES, SIZE_MAX_BYTES))
		return "limits: shm out of range";
	if (!in_range(l->file_bytes, 1, SIZE_MAX_BYTES))
		return "limits: file_size out of range";
	if (!in_range(l->stack_bytes, STACK_MIN_BYTES, SIZE_MAX_BYTES))
		return "limits: stack out of range";
	if (!in_range(l->pids, (spec->flags & SPEC_INIT) ? 2 : 1, PIDS_MAX))
		return "limits: pids out of range";
	if (!in_range(l->open_files, OPEN_FILES_MIN, OPEN_FILES_MAX))
		return "limits: open_files out of range";
	if (!in_range(l->cpu_ms, 1, WALL_MS_MAX) || !in_range(l->wall_ms, 1, WALL_MS_MAX))
		return "limits: wall or cpu out of range";
	if (!in_range(l->cpu_quota_pct, 1, QUOTA_PCT_MAX))
		return "limits: cpu quota out of range";
	if (l->stdout_bytes > OUTPUT_MAX_BYTES || l->stderr_bytes > OUTPUT_MAX_BYTES || l->result_bytes > OUTPUT_MAX_BYTES)
		return "limits: stdout, stderr or result out of range";
	return NULL;
}

/* A dotted Python name or a pattern of the import list ("pkg.*"): printable, no quote, no white space. */
static bool module_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
	       c == '*' || (unsigned char)c >= 0x80;
}

static const char *modules_check(const char *list, uint32_t len)
{
	if (len > SPEC_MODULES_MAX)
		return "modules: list too long";
	if (len > 0 && list[len - 1] != '\0')
		return "modules: last name is not terminated";
	for (uint32_t i = 0; i < len; i++) {
		if (list[i] == '\0' && (i == 0 || list[i - 1] == '\0'))
			return "modules: empty name";
		if (list[i] != '\0' && !module_byte(list[i]))
			return "modules: a byte that no module name has";
	}
	for (uint32_t i = len; i < SPEC_MODULES_MAX; i++)
		if (list[i] != '\0')
			return "modules: bytes behind the last name";
	return NULL;
}

static const char *prelude_check(const struct jail_spec *spec)
{
	if (spec->prelude_len > sizeof(spec->prelude))
		return "prelude too long";
	for (uint32_t i = 0; i < spec->prelude_len; i++)
		if (spec->prelude[i] == '\0')
			return "prelude: NUL byte in source text";
	return NULL;
}

static const char *filter_check(const struct jail_spec *spec)
{
	if (spec->filter_len < 1 || spec->filter_len > SPEC_FILTER_MAX || spec->filter_len > BPF_MAXINSNS)
		return "filter: length out of range";
	/* The kernel proves the rest when it attaches the program (seccomp_check_filter, bpf_check_classic). */
	if (BPF_CLASS(spec->filter[spec->filter_len - 1].code) != BPF_RET)
		return "filter: does not end in a return";
	return NULL;
}

const char *spec_check(const struct jail_spec *spec)
{
	const uint32_t layers_all = LAYER_BIT(LAYER_COUNT) - 1;
	const char *why;

	if (spec->magic != SPEC_MAGIC || spec->version != SPEC_VERSION || spec->size != sizeof(*spec))
		return "not a jail spec of this version";
	if (spec->flags & ~(uint32_t)SPEC_FLAGS_ALL)
		return "unknown flag";
	if (spec->best_effort & ~layers_all)
		return "best_effort: unknown layer";
	if (spec->off & ~LAYER_BIT(LAYER_MDWE))
		return "off: this layer cannot be switched off";
	if (!text_ends(spec->profile, sizeof(spec->profile)) || spec->profile[0] == '\0')
		return "profile: name is empty or not terminated";
	if ((why = limits_check(spec)) || (why = mounts_check(spec)) || (why = modules_check(spec->imports, spec->imports_len)) ||
	    (why = modules_check(spec->preload, spec->preload_len)) || (why = prelude_check(spec)))
		return why;
	return filter_check(spec);
}
