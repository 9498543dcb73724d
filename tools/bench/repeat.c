/* The command that repeats one case. */
#include <stdio.h>

#include "tools/bench/bench.h"

/* Quotes for a shell: ' becomes '\''. */
static void quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

void repeat_command(FILE *out, const struct bench_case *c, const struct result *r)
{
    const struct settings *s = &c->problem->settings;
    char text[1024];
    fprintf(out, "convop bench --mode=%s --dir=%s --dt=%s --tag=%s",
            s->mode == MODE_CHECK  ? "C"
            : s->mode == MODE_TIME ? "P"
                                   : "CP",
            direction_name(c->direction), type_name(c->type), tag_name(c->tag));
    if (case_is_on_gpu(c)) fprintf(out, " --device=cuda:%d", c->device.device_id);
    if (s->threads) fprintf(out, " --threads=%d", s->threads);
    if (post_ops_name(&s->post_ops)[0])
        fprintf(out, " --attr-post-ops=%s", post_ops_name(&s->post_ops));
    if (s->prepared) fputs(" --prepared", out);
    /* A row that was chosen without being named is named, so that the same one runs. */
    const char *impl = r->impl[0] ? r->impl : s->impl;
    if (impl) {
        fputs(" --impl=", out);
        quote(out, impl);
    }
    fputc(' ', out);
    descriptor_format(&c->problem->descriptor, text, sizeof text);
    quote(out, text);
    fputc('\n', out);
}
