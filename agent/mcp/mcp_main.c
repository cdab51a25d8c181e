#include "agent/programs.h"

#include "jail/base/names.h"

static int run(const struct options *opt)
{
	(void)opt;
	fputs("brig: not in this version\n", stderr);
	return EXIT_USAGE;
}

int main(int argc, char *argv[])
{
	static const struct program_run runs[] = { { "mcp", run }, { "serve", run }, { 0 } };

	return program_main(argc, argv, runs);
}
