/* The courier: the one process of brigd that speaks with the network. It is a program of its own, linked with libcurl and with
 * nothing that parses JSON, and runs only where the configuration names somebody to reach. All messages go over SOCK_SEQPACKET pairs.
 *
 *   keeper -> courier   struct courier_boot     once, first; whom it may reach
 *                       struct courier_ctl      CORE: core's new pair, with that descriptor
 *   courier -> keeper   struct courier_ctl      READY: it has given up all that it does not need; or err, and why
 *   core -> courier     struct courier_ask      and body_len bytes: POST them
 *   courier -> core     struct courier_answer   and body_len bytes, once for each ask
 *
 * Each takes the other for hostile: lengths and ranges are checked, and what breaks the protocol ends the connection. */
#ifndef BRIG_SUPERVISOR_COURIER_PROTO_H
#define BRIG_SUPERVISOR_COURIER_PROTO_H

#include "supervisor/config.h"

#include <stdint.h>

#define COURIER_MAGIC 0x42524743u

/* Its end of the keeper's pair. */
#define COURIER_FD 3

enum courier_endpoint { COURIER_DECISION, COURIER_ENDPOINTS };

/* One message, either way. Bytes. */
#define COURIER_BODY_MAX (64u << 10)
/* Asks that are open at once. */
#define COURIER_OPEN_MAX 32u
#define COURIER_TIME_MIN_MS 50u
#define COURIER_TIME_MAX_MS 30000u

struct courier_boot {
	uint32_t magic;
	char url[COURIER_ENDPOINTS][CONFIG_URL_MAX]; /* "": none */
};

enum courier_ctl_kind { COURIER_READY = 1, COURIER_CORE };
struct courier_ctl {
	uint32_t magic, kind;
	int32_t err; /* READY: 0 or errno */
	char why[120];
};

struct courier_ask {
	uint32_t magic, id, endpoint, timeout_ms, body_len;
};

struct courier_answer {
	uint32_t magic, id;
	int32_t err;     /* 0: status and body are what came; else errno: ETIMEDOUT, EMSGSIZE, EBUSY, ECOMM ... */
	uint32_t status; /* of HTTP */
	uint32_t body_len;
	char why[120];   /* of err; printable */
};

#endif
