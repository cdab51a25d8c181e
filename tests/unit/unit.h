/* What every unit test needs of cmocka, and the way to skip with a reason that
 * tests/run.sh understands ("needs WORD ..."). Only tests include this. */
#ifndef BRIG_TESTS_UNIT_H
#define BRIG_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SKIP_NEEDS(what)                               \
	do {                                           \
		printf("# skip: needs %s\n", (what));  \
		fflush(stdout);                        \
		skip();                                \
	} while (0)

#endif
