/* Methods that tell how the supervisor is. */
#include "supervisor/metrics.h"
#include "supervisor/request.h"
#include "supervisor/status_report.h"
#include "supervisor/trial.h"

/* All rows of all families take a tenth of it. */
#define METRICS_TEXT_MAX (2u << 20)

static void method_status(const struct request *rq)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	status_print(rq->core, &b);
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
