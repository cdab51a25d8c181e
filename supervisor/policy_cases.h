/* A table of verdicts that a policy must give (brig policy test): questions, and what each must be answered. Core only; pure. */
#ifndef BRIG_SUPERVISOR_POLICY_CASES_H
#define BRIG_SUPERVISOR_POLICY_CASES_H

#include "supervisor/policy.h"

struct jbuf;

/* The cases' own policy, where they bring one (*ret NULL: they do not); name and places are those of the cases' text. */
int policy_cases_policy(const struct policy_text *cases, struct policy **ret, struct err *err);
/* Asks all. Appends members of an object: "requests":[...],"wrong":N,"rules":[...],"unhit":N. -EINVAL: the cases are wrong, with their place. */
int policy_cases_run(const struct policy *policy, const struct policy_text *cases, int64_t now_ms, struct jbuf *b, struct err *err);

#endif
