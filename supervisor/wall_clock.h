/* The time of day, for what outlives a process: rows of the store, rules about hours. */
#ifndef BRIG_SUPERVISOR_WALL_CLOCK_H
#define BRIG_SUPERVISOR_WALL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds since 1970. */
static inline int64_t wall_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#endif
