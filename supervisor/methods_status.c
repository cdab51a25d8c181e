/* Methods that tell how the supervisor is. */
#include "supervisor/jail.h"
#include "supervisor/metrics.h"
#include "supervisor/request.h"
#include "supervisor/trial.h"

/* All rows of all families take a tenth of it. */
#define METRICS_TEXT_MAX (2u << 20)

static void method_status(const struct request *rq)
{
	struct jbuf b;
	struct jail *j;
	unsigned parked = 0, alive = 0;
	const char *sep = "";

	LIST_FOREACH(j, &rq->core->jails, link) {
		parked += j->state == JAIL_PARKED && !j->fn;
		alive++;
	}
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_printf(&b, "{\"parked\":%u,\"alive\":%u,\"jails\":[", parked, alive);
	LIST_FOREACH(j, &rq->core->jails, link) {
		if (j->pid > 0)
			jbuf_printf(&b, "%s{\"pid\":%d,\"state\":\"%s\"}", sep, j->pid, jail_state_name(j->state));
		sep = j->pid > 0 ? "," : sep;
	}
	jbuf_text(&b, "]}");
	request_answer(rq, &b);
	jbuf_done(&b);
}

static void method_doctor(const struct request *rq)
{
	trial_start(rq->client, rq->id, rq->id_len);
}

static void method_metrics(const struct request *rq)
{
	struct jbuf b, text;

	jbuf_init(&text, METRICS_TEXT_MAX);
	metrics_print(rq->core, &text);
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"content_type\":\"" PROM_CONTENT_TYPE "\",\"text\":");
	jbuf_string(&b, text.data ? text.data : "", text.len);
	jbuf_text(&b, "}");
	if (text.failed)
		b.failed = true;
	request_answer(rq, &b);
	jbuf_done(&b);
	jbuf_done(&text);
}

static const struct param params_none[] = { { 0 } };

const struct method methods_status[] = {
	{ "status", method_status, params_none, false },
	{ "doctor", method_doctor, params_none, false },
	{ "metrics", method_metrics, params_none, false },
	{ 0 },
};
