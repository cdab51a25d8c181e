/* Every limit that is not a profile's choice, with its reason. */
#ifndef BRIG_BASE_LIMITS_H
#define BRIG_BASE_LIMITS_H

/* A tool body is source text that a model wrote: 1 MiB is twenty times the longest seen, and bounds the compiler's memory. */
#define LIMIT_BODY_BYTES (1u << 20)
/* Arguments cross two pipes and are held three times (client, core, jail). */
#define LIMIT_ARGS_BYTES (8u << 20)
/* Answers of a person to some forms, and words of what the caller can do. */
#define LIMIT_CONTEXT_BYTES (64u << 10)
/* Forms that a tool may want filled in at once: what a person looks through; each a few fields with their words. */
#define LIMIT_ASKS 8
#define LIMIT_ASKS_BYTES (16u << 10)
#define LIMIT_ASK_FIELDS 32
/* Of what a tool says while it runs: progress for a person to follow, not a second output. Both ends count. */
#define LIMIT_EVENTS 1000
#define LIMIT_EVENT_BYTES (64u << 10)
/* Nested arguments recurse in every parser; CPython's own json stops near 1000. */
#define LIMIT_JSON_DEPTH 128
/* One request line: body and arguments, JSON-escaped at worst six bytes a character, plus names. */
#define LIMIT_FRAME_BYTES (LIMIT_ARGS_BYTES + 6 * LIMIT_BODY_BYTES + (1u << 20))
/* A profile is written by hand. */
#define LIMIT_PROFILE_BYTES (256u << 10)
/* base <- pure <- stdlib <- python <- one of the operator's own, with room. */
#define LIMIT_EXTENDS_DEPTH 8
/* Error payloads of a jail: type, message, traceback. */
#define LIMIT_ERROR_BYTES (64u << 10)
/* Of the 64 ids that one supervisor leases: zygotes, core, audit, and this many slots. */
#define LIMIT_SLOTS 61
/* Captured output and results are held in core's memory, once for each running call. */
#define LIMIT_OUTPUT_BYTES (16u << 20)
/* One answer line: two outputs and a result at their caps, escaped at worst six bytes a character, and the rest. */
#define LIMIT_ANSWER_BYTES (3 * 6 * LIMIT_OUTPUT_BYTES + (1u << 20))
/* The prelude is read by people. */
#define LIMIT_PRELUDE_BYTES (64u << 10)

#endif
