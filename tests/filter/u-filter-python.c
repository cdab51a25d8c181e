/* Ordinary Python under the filters of the shipped profiles: what a profile grants
 * works, what it does not grant fails as an ordinary error that Python can catch. */
#include "tests/filter/table.h"

#include "jail/base/fd.h"

#include <sys/wait.h>

static const struct run {
	const char *profile, *check;
} runs[] = {
	{ "pure", "compute" },	  { "pure", "files" },		{ "pure", "loop" },	    { "pure", "signals" },
	{ "pure", "no_threads" }, { "pure", "no_processes" },	{ "pure", "no_network" },   { "pure", "numbers" },
	{ "stdlib", "compute" },  { "stdlib", "files" },	{ "stdlib", "loop" },	    { "stdlib", "threads" },
	{ "stdlib", "signals" },  { "stdlib", "no_processes" }, { "stdlib", "no_network" }, { "stdlib", "numbers" },
	{ "python", "compute" },  { "python", "files" },	{ "python", "loop" },	    { "python", "threads" },
	{ "python", "signals" },  { "python", "processes" },	{ "python", "no_network" }, { "python", "callbacks" },
	{ "python", "numbers" },  { "loopback", "loopback" },
};

/* The last line that the script printed. */
static void run_script(const struct run *run, char *word, size_t cap)
{
	const struct jail_spec *spec = profile_spec(table_profile(run->profile));
	_cleanup_close_ int program = fd_sealed("filter", spec->filter, spec->filter_len * sizeof(spec->filter[0]));
	int out[2], status;
	char fd_text[16];
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_true(program >= 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	snprintf(fd_text, sizeof(fd_text), "%d", program);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)alarm(60);
		(void)fd_cloexec_off(program);
		(void)lseek(program, 0, SEEK_SET);
		if (dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0)
			_exit(98);
		execl("/usr/bin/python3", "python3", "-I", "tests/filter/python_under.py", fd_text, run->check, NULL);
		_exit(97);
	}
	close(out[1]);
	while (len < cap - 1 && (n = read(out[0], word + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	word[len] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void python_works(void **state)
{
	const struct run *run = *state;
	char word[4096];

	run_script(run, word, sizeof(word));
	if (strcmp(word, "skip\n") == 0)
		SKIP_NEEDS("numpy");
	if (strcmp(word, "ok\n") != 0)
		fail_msg("%s under %s: %s", run->check, run->profile, word);
}

int main(void)
{
	static struct CMUnitTest tests[ARRAY_LEN(runs)];
	static char names[ARRAY_LEN(runs)][64];

	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		snprintf(names[i], sizeof(names[i]), "python does %s under %s", runs[i].check, runs[i].profile);
		tests[i] = (struct CMUnitTest){ .name = names[i], .test_func = python_works, .initial_state = (void *)&runs[i] };
	}
	return _cmocka_run_group_tests("filter-python", tests, ARRAY_LEN(tests), NULL, NULL);
}
