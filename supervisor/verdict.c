#include "supervisor/verdict.h"

#include <signal.h>
#include <sys/wait.h>

static bool died_of(const struct evidence *ev, int sig)
{
	return ev->exited && WIFSIGNALED(ev->wait_status) && WTERMSIG(ev->wait_status) == sig;
}

/* The order of the questions is the precedence. An OOM kill or a denied system call that was
 * counted when the frame came is a kill before the frame: the kernel's doing
 * wins over the tool's word, else a tool could let a child be killed and
 * report ok. */
enum outcome verdict_of(const struct evidence *ev)
{
	bool kernel_killed = ev->oom_kills > 0 || ev->syscall;

	if (ev->internal)
		return OUTCOME_INTERNAL_ERROR;
	if (ev->gate != OUTCOME_OK) /* nothing of it ever ran */
		return ev->gate;
	if (ev->frame_complete && !kernel_killed)
		return ev->frame_ok ? OUTCOME_OK : OUTCOME_TOOL_ERROR;
	if (ev->busy)
		return OUTCOME_BUSY;
	if (ev->setup_failed)
		return OUTCOME_SETUP_FAILED;
	if (ev->cancelled)
		return OUTCOME_CANCELLED;
	/* SIGSYS: only the filter can send it (every way for a tool to send it to
	 * itself is refused by argument), for a foreign architecture's entry. */
	if (ev->syscall || died_of(ev, SIGSYS))
		return OUTCOME_SYSCALL_DENIED;
	if (ev->oom_kills > 0)
		return OUTCOME_OUT_OF_MEMORY;
	if (ev->result_over)
		return OUTCOME_RESULT_TOO_LARGE;
	if (ev->cpu_over)
		return OUTCOME_CPU_LIMIT;
	if (ev->wall_over)
		return OUTCOME_TIMEOUT;
	if (ev->exited && WIFSIGNALED(ev->wait_status) && !ev->we_killed)
		return OUTCOME_KILLED;
	return OUTCOME_TOOL_ERROR;
}
