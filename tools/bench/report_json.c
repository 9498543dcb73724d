/* Results for programs: one JSON object a line. */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/gpu.h"
#include "tools/json.h"

/* A number that was measured, or null. */
static void measured(const char *key, double value)
{
    json_key(key, 0);
    if (value > 0)
        printf("%.6g", value);
    else
        fputs("null", stdout);
}

static void text_member(const char *key, const char *text)
{
    json_key(key, 0);
    json_string(text);
}

/* "stride=2 mb=1" as {"stride": 2, "mb": 1}. */
static void print_swept(const char *swept)
{
    json_key("sweep", 0);
    putchar('{');
    for (int first = 1; *swept; first = 0) {
        char key[32];
        long long value = 0;
        int length = 0;
        if (sscanf(swept, "%31[^=]=%lld%n", key, &value, &length) != 2) break;
        json_key(key, first);
        printf("%lld", value);
        swept += length;
        swept += strspn(swept, " ");
    }
    putchar('}');
}

static void print_stages(const struct times *t)
{
    json_key("stages", 0);
    putchar('[');
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++) {
        fputs(i ? ", {" : "{", stdout);
        json_key("name", 1);
        json_string(t->stages[i].name);
        json_key("ms", 0);
        printf("%.6g", t->stages[i].ms);
        json_key("count", 0);
        printf("%llu}", (unsigned long long)t->stages[i].count);
    }
    putchar(']');
}

/* What its driver calls it, too. */
static void print_device(const struct bench_case *c)
{
    char text[32] = "cpu";
    if (case_is_on_gpu(c)) snprintf(text, sizeof text, "cuda:%d", c->device.device_id);
    text_member("device", text);
    if (case_is_on_gpu(c)) text_member("device_name", gpu_name());
}

void report_json(const struct bench_arguments *a, const struct bench_case *c,
                 const struct result *r)
{
    const struct problem *p = c->problem;
    const struct descriptor *d = &p->descriptor;
    char text[1024];
    putchar('{');
    json_key("name", 1);
    snprintf(text, sizeof text, "%.*s", d->name_length, d->name);
    json_string(d->name_length ? text : p->text);
    descriptor_format(d, text, sizeof text);
    text_member("problem", text);
    text_member("dir", direction_name(c->direction));
    text_member("dt", report_type(c));
    text_member("tag", report_tag(c));
    print_device(c);
    measured("threads", r->threads);
    json_key("prepared", 0);
    fputs(p->settings.prepared ? "true" : "false", stdout);
    if (post_ops_name(&p->settings.post_ops)[0])
        text_member("post_ops", post_ops_name(&p->settings.post_ops));
    if (p->swept[0]) print_swept(p->swept);
    text_member("impl", r->impl[0] ? r->impl : NULL);
    text_member("choice", r->choice ? choice_name(r->choice) : NULL);
    measured("ms", r->times.ms);
    measured("median_ms", r->times.median_ms);
    measured("gflops", r->gflops);
    measured("gb_per_s", r->times.ms > 0 ? case_bytes(c) / r->times.ms * 1e-6 : 0);
    measured("limit_ms", r->limit_ms);
    if (a->stages && r->times.ms > 0) print_stages(&r->times);
    json_key("ok", 0);
    fputs(r->outcome == PASSED ? "true" : r->outcome == FAILED ? "false" : "null", stdout);
    text_member("outcome", outcome_name(r->outcome));
    if (r->why[0]) text_member("why", r->why);
    puts("}");
    if (r->outcome != FAILED) return;
    fputs("convop: repeat: ", stderr);
    repeat_command(stderr, c, r);
}
