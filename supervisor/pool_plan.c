#include "supervisor/pool_plan.h"

/* Arrivals of about the last second count. */
#define RATE_OVER_S 1.0
/* The last eight jails or so. */
#define REFILL_WEIGHT 8
/* Before the first was made: a jail of the shipped profiles on two cores under load. */
#define REFILL_FIRST_S 0.02
/* What was needed a moment ago is likely to be needed again, and a jail that waits costs little. */
#define HOLD_NS (5 * UINT64_C(1000000000))
/* One step down each second. */
#define STEP_NS UINT64_C(1000000000)

void pool_plan_init(struct pool_plan *plan, unsigned warm, unsigned max)
{
	*plan = (struct pool_plan){ .warm = warm, .max = max < warm ? warm : max, .target = warm, .refill_s = REFILL_FIRST_S };
}

/* Without a call the rate fades. In steady traffic (a call each dt) this is 1/dt. */
static double rate_at(const struct pool_plan *plan, uint64_t now_ns)
{
	double dt = now_ns > plan->arrival_ns ? (double)(now_ns - plan->arrival_ns) / 1e9 : 0;

	return plan->rate / (1 + dt / RATE_OVER_S);
}

void pool_plan_arrival(struct pool_plan *plan, uint64_t now_ns, bool missed)
{
	double dt = now_ns > plan->arrival_ns ? (double)(now_ns - plan->arrival_ns) / 1e9 : 0;

	plan->rate = plan->arrival_ns ? (plan->rate + 1 / RATE_OVER_S) / (1 + dt / RATE_OVER_S) : 1 / RATE_OVER_S;
	plan->arrival_ns = now_ns;
	if (!missed || plan->warm == 0)
		return;
	plan->missed_ns = now_ns;
	if (plan->warm + plan->boost < plan->max)
		plan->boost++;
}

void pool_plan_refilled(struct pool_plan *plan, uint64_t took_ns)
{
	plan->refill_s += ((double)took_ns / 1e9 - plan->refill_s) / REFILL_WEIGHT;
}

/* As many as arrive while one is made, on top of what the profile wants to wait anyway. */
static unsigned needed(const struct pool_plan *plan, uint64_t now_ns)
{
	double pipeline = rate_at(plan, now_ns) * plan->refill_s;
	double n = plan->warm + plan->boost + pipeline;

	return n >= plan->max ? plan->max : (unsigned)(n + 0.5);
}

static void boost_fade(struct pool_plan *plan, uint64_t now_ns)
{
	if (plan->boost == 0 || now_ns - plan->missed_ns < HOLD_NS)
		return;
	plan->boost /= 2;
	plan->missed_ns = now_ns - HOLD_NS + STEP_NS;
}

unsigned pool_plan_target(struct pool_plan *plan, uint64_t now_ns, uint32_t idle_ms)
{
	unsigned need;

	if (plan->warm == 0 || plan->arrival_ns == 0 || now_ns - plan->arrival_ns >= idle_ms * UINT64_C(1000000)) {
		plan->boost = 0;
		return plan->target = plan->warm;
	}
	boost_fade(plan, now_ns);
	need = needed(plan, now_ns);
	if (need >= plan->target) {
		plan->target = need;
		plan->needed_ns = now_ns;
	} else if (now_ns - plan->needed_ns >= HOLD_NS) {
		plan->target -= (plan->target - need + 1) / 2;
		plan->needed_ns = now_ns - HOLD_NS + STEP_NS;
	}
	return plan->target;
}

bool pool_plan_at_rest(const struct pool_plan *plan)
{
	return plan->target == plan->warm && plan->boost == 0;
}
