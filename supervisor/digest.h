/* SHA-256 as the text that names versions, bindings and policies: "sha256:" and 64 hex digits. */
#ifndef BRIG_SUPERVISOR_DIGEST_H
#define BRIG_SUPERVISOR_DIGEST_H

#include <sha2.h>
#include <stddef.h>

/* With its NUL. */
#define DIGEST_MAX 72

/* One of several parts, its length in front, so that no two lists of parts are the same bytes. NULL is not the same as empty. */
void digest_part(SHA2_CTX *sha, const void *bytes, size_t len);
void digest_end(SHA2_CTX *sha, char ret[DIGEST_MAX]);

#endif
