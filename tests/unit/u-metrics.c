/* The exposition byte for byte, and what is counted where. */
#include "supervisor/metrics_impl.h"
#include "supervisor/pool_impl.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void golden(void **state)
{
	struct histogram h = { 0 };
	struct jbuf b;

	(void)state;
	jbuf_init(&b, 1u << 16);
	prom_family(&b, "brig_x_total", "counter", "Things.");
	prom_sample(&b, "brig_x_total", PROM_NO_LABEL, UINT64_MAX);
	prom_sample(&b, "brig_x_total", PROM_LABEL2("a", "x\"y\\z\n", "b", ""), 7);
	prom_seconds(&b, "brig_t", PROM_LABEL("a", "b"), 1796075810.25);
	assert_string_equal(b.data, "# HELP brig_x_total Things.\n# TYPE brig_x_total counter\nbrig_x_total 18446744073709551615\n"
				    "brig_x_total{a=\"x\\\"y\\\\z\\n\",b=\"\"} 7\nbrig_t{a=\"b\"} 1796075810.25\n");
	jbuf_done(&b);
	histogram_add(&h, 200000);      /* the first bound belongs to its bucket */
	histogram_add(&h, 200001);
	histogram_add(&h, 60000000000); /* the last, too */
	histogram_add(&h, 60000000001); /* above all */
	prom_histogram(&b, "h", PROM_LABEL("jail", "warm"), &h);
	assert_string_equal(b.data,
			    "h_bucket{jail=\"warm\",le=\"0.0002\"} 1\nh_bucket{jail=\"warm\",le=\"0.0005\"} 2\nh_bucket{jail=\"warm\",le=\"0.001\"} 2\n"
			    "h_bucket{jail=\"warm\",le=\"0.002\"} 2\nh_bucket{jail=\"warm\",le=\"0.005\"} 2\nh_bucket{jail=\"warm\",le=\"0.01\"} 2\n"
			    "h_bucket{jail=\"warm\",le=\"0.02\"} 2\nh_bucket{jail=\"warm\",le=\"0.05\"} 2\nh_bucket{jail=\"warm\",le=\"0.1\"} 2\n"
			    "h_bucket{jail=\"warm\",le=\"0.2\"} 2\nh_bucket{jail=\"warm\",le=\"0.5\"} 2\nh_bucket{jail=\"warm\",le=\"1\"} 2\n"
			    "h_bucket{jail=\"warm\",le=\"2\"} 2\nh_bucket{jail=\"warm\",le=\"5\"} 2\nh_bucket{jail=\"warm\",le=\"10\"} 2\n"
			    "h_bucket{jail=\"warm\",le=\"30\"} 2\nh_bucket{jail=\"warm\",le=\"60\"} 3\nh_bucket{jail=\"warm\",le=\"+Inf\"} 4\n"
			    "h_sum{jail=\"warm\"} 120.000400002\nh_count{jail=\"warm\"} 4\n");
	jbuf_done(&b);
	prom_histogram(&b, "h", PROM_NO_LABEL, &h);
	assert_non_null(strstr(b.data, "h_bucket{le=\"0.0002\"} 1\n"));
	assert_non_null(strstr(b.data, "\nh_count 4\n"));
	jbuf_done(&b);
}

/* A store of n profiles named p0, p1, ...: the names are enough, nothing is parsed. */
static struct profile_store *store_make(unsigned n)
{
	char dir[] = "/tmp/brig-u-metrics.XXXXXX", name[32];
	struct profile_store *store;
	struct err err;

	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "p%u.json", i);
		int f = openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_int_equal(write(f, "{}", 2), 2);
		close(f);
	}
	assert_int_equal(profile_store_read(fd, dir, &store, &err), 0);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "p%u.json", i);
		unlinkat(fd, name, 0);
	}
	close(fd);
	rmdir(dir);
	return store;
}

static struct core_boot boot;
static struct core core;
static struct pools pools; /* none */

static int begin(void **state)
{
	(void)state;
	boot = (struct core_boot){ .profiles = store_make(METRICS_PROFILES + 10) };
	core = (struct core){ .boot = &boot, .metrics = metrics_new(2), .pools = &pools };
	return 0;
}

static int end(void **state)
{
	(void)state;
	metrics_free(core.metrics);
	profile_store_free(boot.profiles);
	return 0;
}

static struct call ended(const char *profile, enum outcome outcome)
{
	struct call c = { .core = &core, .outcome = outcome, .received_ns = 1000, .left_queue_ns = 2000, .ended_ns = 5000000 };

	snprintf(c.profile, sizeof(c.profile), "%s", profile);
	return c;
}

static void expect_line(const char *line)
{
	struct jbuf b;
	char want[200];

	snprintf(want, sizeof(want), "\n%s\n", line);
	jbuf_init(&b, 1u << 20);
	metrics_print(&core, &b);
	assert_false(b.failed);
	if (!strstr(b.data, want))
		print_error("missing: %s\n", line);
	assert_non_null(strstr(b.data, want));
	jbuf_done(&b);
}

static void every_outcome_is_counted_under_its_word(void **state)
{
	char line[200];

	(void)state;
	for (enum outcome o = 0; o < OUTCOME_COUNT; o++)
		for (unsigned i = 0; i <= o; i++) {
			struct call c = ended("p1", o);
			metrics_call(&c);
		}
	for (enum outcome o = 0; o < OUTCOME_COUNT; o++) {
		snprintf(line, sizeof(line), "brig_calls_total{profile=\"p1\",outcome=\"%s\"} %u", outcome_name(o), (unsigned)o + 1);
		expect_line(line);
	}
}

static void names_that_are_not_the_stores_share_one_row(void **state)
{
	struct call a = ended("mine", OUTCOME_OK), b = ended("x\"} 9\nbrig_evil 1", OUTCOME_OK);

	(void)state;
	metrics_call(&a);
	metrics_call(&b);
	metrics_refused(&core, "another", OUTCOME_INVALID_ARGUMENTS);
	expect_line("brig_calls_total{profile=\"custom\",outcome=\"ok\"} 2");
	expect_line("brig_calls_total{profile=\"custom\",outcome=\"invalid_arguments\"} 1");
	assert_int_equal(core.metrics->row_count, 1);
}

static void rows_are_bounded(void **state)
{
	char name[16];

	(void)state;
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < METRICS_PROFILES + 10; i++) {
			snprintf(name, sizeof(name), "p%u", i);
			struct call c = ended(name, OUTCOME_OK);
			metrics_call(&c);
		}
	assert_int_equal(core.metrics->row_count, METRICS_PROFILES);
	expect_line("brig_calls_total{profile=\"p0\",outcome=\"ok\"} 2");
	expect_line("brig_calls_total{profile=\"other\",outcome=\"ok\"} 22");
}

static void denials_name_their_layer(void **state)
{
	struct call c = ended("p1", OUTCOME_SETUP_FAILED);

	(void)state;
	c.failed_layer = LAYER_LANDLOCK;
	metrics_call(&c);
	c = ended("p1", OUTCOME_SYSCALL_DENIED);
	metrics_call(&c);
	c = ended("p1", OUTCOME_OUT_OF_MEMORY);
	c.ev.oom_kills = 3;
	metrics_call(&c);
	c = ended("p1", OUTCOME_CPU_LIMIT);
	metrics_call(&c);
	c.usage_known = true;
	metrics_call(&c);
	c.usage.cpu_us = CGROUP_UNKNOWN;
	metrics_call(&c);
	c = ended("p1", OUTCOME_TOOL_ERROR);
	c.limits_hit = HIT_PIDS | HIT_TMPFS;
	metrics_call(&c);
	expect_line("brig_denied_total{layer=\"landlock\"} 1");
	expect_line("brig_denied_total{layer=\"seccomp\"} 1");
	expect_line("brig_denied_total{layer=\"cgroup\"} 2");
	expect_line("brig_denied_total{layer=\"rlimit\"} 2");
	expect_line("brig_oom_total 1");
	expect_line("brig_limits_hit_total{limit=\"pids\"} 1");
	expect_line("brig_limits_hit_total{limit=\"stdout\"} 0");
	expect_line("brig_limits_hit_total{limit=\"tmpfs\"} 1");
}

static void busy_is_counted_by_its_limit(void **state)
{
	struct call c = ended("p1", OUTCOME_BUSY);

	(void)state;
	snprintf(c.why.where, sizeof(c.why.where), "queue_max");
	metrics_call(&c);
	snprintf(c.why.where, sizeof(c.why.where), "what nobody listed");
	metrics_call(&c);
	metrics_busy(&core, "connections_max");
	expect_line("brig_busy_total{limit=\"queue_max\"} 1");
	expect_line("brig_busy_total{limit=\"other\"} 1");
	expect_line("brig_busy_total{limit=\"connections_max\"} 1");
	/* It never had a jail. */
	expect_line("brig_call_seconds_count{jail=\"cold\"} 0");
}

static void times_go_where_they_belong(void **state)
{
	struct call c = ended("p1", OUTCOME_OK);

	(void)state;
	metrics_call(&c);
	c.receipt.warm = true;
	metrics_call(&c);
	metrics_call(&c);
	c = ended("p1", OUTCOME_CANCELLED);
	c.left_queue_ns = 0; /* while it was queued */
	metrics_call(&c);
	metrics_pool_parked(&core, 7000000);
	metrics_pool_taken(&core);
	metrics_pool_died(&core);
	metrics_restart(&core, "zygote");
	expect_line("brig_call_seconds_count{jail=\"cold\"} 1");
	expect_line("brig_call_seconds_count{jail=\"warm\"} 2");
	expect_line("brig_call_seconds_sum{jail=\"warm\"} 0.009996");
	expect_line("brig_queue_seconds_count 3");
	expect_line("brig_refill_seconds_sum 0.007");
	expect_line("brig_pool_taken_total 1");
	expect_line("brig_pool_died_total 1");
	expect_line("brig_process_restarts_total{process=\"zygote\"} 1");
	expect_line("brig_process_restarts_total{process=\"core\"} 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
		cmocka_unit_test_setup_teardown(every_outcome_is_counted_under_its_word, begin, end),
		cmocka_unit_test_setup_teardown(names_that_are_not_the_stores_share_one_row, begin, end),
		cmocka_unit_test_setup_teardown(rows_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(denials_name_their_layer, begin, end),
		cmocka_unit_test_setup_teardown(busy_is_counted_by_its_limit, begin, end),
		cmocka_unit_test_setup_teardown(times_go_where_they_belong, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
