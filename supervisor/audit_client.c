#include "supervisor/audit_client.h"

int audit_begin(struct call *c, struct err *err UNUSED)
{
	call_recorded(c);
	return 0;
}

void audit_end(const struct call *c UNUSED)
{
}
