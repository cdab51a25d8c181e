/* HMAC-SHA256 (RFC 2104) over libmd, and the signatures of webhooks: "t=SECONDS,v1=HEX", HEX over "SECONDS.BODY". */
#ifndef BRIG_SUPERVISOR_SIGNATURE_H
#define BRIG_SUPERVISOR_SIGNATURE_H

#include "jail/base/err.h"
#include "supervisor/courier_proto.h"

#include <sha2.h>
#include <stddef.h>
#include <stdint.h>

/* Between two clocks that somebody sets, and for a person's mail. */
#define SIGNATURE_WINDOW_S 300

struct hmac {
	SHA2_CTX inner, outer;
};
void hmac_begin(struct hmac *h, const void *key, size_t len);
void hmac_add(struct hmac *h, const void *bytes, size_t len);
void hmac_end(struct hmac *h, uint8_t ret[SHA256_DIGEST_LENGTH]);

void signature_make(const struct courier_key *key, int64_t now_s, const char *body, size_t len, char ret[COURIER_SIGNATURE_MAX]);
/* Compared in constant time. -EINVAL: it has not that form; -EACCES: not of this key over this body; -ESTALE: too old, or from
 * the future; with *err. */
int signature_check(const struct courier_key *key, const char *signature, size_t signature_len, const char *body, size_t len, int64_t now_s,
		    struct err *err);

#endif
