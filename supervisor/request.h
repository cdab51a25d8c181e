/* One JSON-RPC request and what methods do with it: take parameters, refuse, answer. Core only. */
#ifndef BRIG_SUPERVISOR_REQUEST_H
#define BRIG_SUPERVISOR_REQUEST_H

#include "supervisor/client.h"
#include "supervisor/profile.h"

/* What is refused with a JSON-RPC error: the request itself is wrong (jsonrpc.org/specification, section 5.1). */
#define RPC_PARSE   (-32700)
#define RPC_REQUEST (-32600)
#define RPC_METHOD  (-32601)
#define RPC_PARAMS  (-32602)
#define RPC_INTERNAL (-32603)
/* No room now; data.retry_after_ms says when to ask again. */
#define RPC_BUSY (-32000)
/* Known, and not for this socket or this uid. */
#define RPC_AUTHORITY (-32001)
/* A session that does not exist, or has ended. */
#define RPC_SESSION (-32003)
/* A session's jail cannot be had on this host. */
#define RPC_SETUP (-32004)
/* What it is about is not any more what it was. */
#define RPC_STALE (-32005)

/* The largest answer that is no call's. */
#define ANSWER_TEXT_MAX (4u << 20)

/* What a method takes. The first character of a value tells its type; NULL: the method judges it itself. */
struct param {
	const char *name;
	const char *first;
	const char *type;
};
#define STRING_FIRST "\""
#define BOOL_FIRST   "tf"
#define NUMBER_FIRST "-0123456789"
#define OBJECT_FIRST "{"
#define PARAMS_PROFILE                                                                                              \
	{ "profile", STRING_FIRST, "a string" }, { "profile_path", STRING_FIRST, "a string" },                      \
	{                                                                                                           \
		"profile_text", STRING_FIRST, "a string"                                                            \
	}

/* Rows that a table of parameters may have. */
#define REQUEST_PARAMS_MAX 16

/* Where a value stands in the line; len 0: it is absent. */
struct slice {
	size_t at, len;
};

/* A request that json_check() accepted; slices point into the line, which lives until the method returns. Its members are found
 * once: a line may be 15 MiB, and each look through it keeps every client waiting. */
struct request {
	struct client *client;
	struct core *core;
	const char *line;
	size_t len;
	const char *id; /* raw JSON */
	size_t id_len;
	struct slice version, rpc_id, method, params_at; /* members of the request */
	const struct param *params;                      /* of its method */
	struct slice values[REQUEST_PARAMS_MAX];         /* in the order of params */
};

/* One row of a table of methods, which ends with a NULL name. */
struct method {
	const char *name;
	void (*fn)(const struct request *rq);
	const struct param *params;
	bool admin; /* not over agent.sock */
};
extern const struct method methods_admin[], methods_approval[], methods_audit[], methods_call[], methods_policy[], methods_profile[], methods_session[], methods_status[],
	methods_tool[], methods_tool_state[], methods_why[];

void request_refuse(const struct request *rq, int code, const struct err *err);
void request_refuse_params(const struct request *rq, const char *what);
/* Who asks for this, in the audit log (enum audit_kind of audit_record.h). False: it cannot be told there and is not to be done;
 * the request was refused. */
bool request_recorded(const struct request *rq, unsigned kind, const char *call_id, const char *text);
struct audit_about;
/* The same with all that it is about (audit_client.h). */
bool request_recorded_about(const struct request *rq, unsigned kind, const struct audit_about *about);
/* Never half an object: what did not fit into memory is an error. */
void request_answer(const struct request *rq, const struct jbuf *b);
/* Finds the members of the request. *ret_unknown: the first key that no request has; len 0: there is none. */
void request_index(struct request *rq, struct slice *ret_unknown);
/* Finds the parameters. 0, or -EINVAL with *err: one is not of the table, or not of its type. */
int request_index_params(struct request *rq, const struct param *params, struct err *err);

/* The value of that parameter, as raw JSON; false: absent. */
bool request_find(const struct request *rq, const char *name, struct slice *ret);
/* One that is a string; NULL when absent or of another type. *ret_len may count NULs. */
char *request_string(const struct request *rq, const char *name, size_t *ret_len);
bool request_true(const struct request *rq, const char *name);
bool request_false(const struct request *rq, const char *name); /* said to be false; absent is neither */
/* May agents name that profile? */
bool core_agent_may_use(const struct core *core, const char *profile);
/* May this client run calls under the profile of that name? */
bool request_may_use(const struct request *rq, const char *profile);
/* An agent may not weaken its jail. 0 on other sockets. */
int request_check_effort(const struct request *rq, struct err *err);
/* What an agent may not ask for: a profile that is not for it, or best_effort. 0 on other sockets. */
int request_check_agent(const struct request *rq, const char *profile, struct err *err);
/* The profile that the parameters name, or carry as text; that of the configuration where they do neither. */
int request_profile(const struct request *rq, struct profile **ret, struct err *err);
/* Its error: one of authority, or a wrong parameter. */
void request_refuse_profile(const struct request *rq, const struct err *err);
struct session;
/* The open session that params.session names; NULL: refused already, saying why there is none. */
struct session *request_session(const struct request *rq);

/* Is there room for one more call of this uid? Else it was answered: as busy, and before it costs a record or a place. */
bool request_admit(const struct request *rq, size_t bytes, const char *profile);

#endif
