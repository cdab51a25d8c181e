/* What a tool writes and says, told to its client while it runs: notifications `started`,
 * `output` and `event` of brig(7). They are a courtesy beside the result, which carries the
 * same text: a client that does not read fast enough misses some, and is told how
 * many bytes; it holds up neither the tool nor another client. Core only. */
#ifndef BRIG_SUPERVISOR_STREAM_H
#define BRIG_SUPERVISOR_STREAM_H

#include "jail/spec.h"
#include "supervisor/client.h"

enum stream_channel { STREAM_STDOUT, STREAM_STDERR, STREAM_CHANNELS };

/* One event holds at most so much of a tool's output. */
#define STREAM_EVENT_BYTES (16u << 10)
/* What comes within this time is one event: a tool that prints word by word costs its reader no more than one that does not. */
#define STREAM_WAIT_MS 20

struct stream;

/* For the call of that id; pending is borrowed, and tells who is told. limits: no more than the result keeps is sent. NULL: no memory. */
struct stream *stream_new(struct event_base *base, const struct pending *pending, const char *call_id, const struct spec_limits *limits);
void stream_started(const struct stream *stream);
/* Any bytes: events are valid UTF-8 wherever a piece ends. */
void stream_add(struct stream *stream, enum stream_channel channel, const char *bytes, size_t len);
/* One event of the tool's own: a JSON object that call_event_check() accepted, in one line. */
void stream_event(const struct stream *stream, const char *event, size_t len);
/* Nothing follows: sends what was held back. */
void stream_end(struct stream *stream);
void stream_free(struct stream *stream);

/* How much of it is sure to end where a character does: all but the beginning of a sequence that may yet become one. */
size_t stream_whole(const char *bytes, size_t len);

#endif
