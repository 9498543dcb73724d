/* A row that takes everything and wants more workspace than there is, and one that fails. */
#include "tests/plugins/plugin_test.h"

static size_t workspace(const convop_conv_problem *p)
{
    return p->workspace_limit + 1;
}

static convop_status row_fails(const convop_conv_problem *p, const convop_conv_operands *t,
                               const convop_context *context, void *scratch)
{
    (void)p, (void)t, (void)context, (void)scratch;
    return host->fail(CONVOP_E_DEVICE, "moody: not today");
}

/* Its reason is no text. */
static int refuses(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    (void)p;
    for (int i = 0; i < CONVOP_WHY_SIZE; i++) why[i] = 'x';
    return 0;
}

static const convop_conv_impl rows[] = {
    {.struct_size = sizeof(convop_conv_impl),
     .name = "liar",
     .direction = CONVOP_FWD,
     .level = 30,
     .applicable = row_takes_all,
     .workspace = workspace,
     .run = row_fill},
    {.struct_size = sizeof(convop_conv_impl),
     .name = "moody",
     .direction = CONVOP_FWD,
     .level = 20,
     .applicable = row_takes_all,
     .run = row_fails},
    {.struct_size = sizeof(convop_conv_impl),
     .name = "mute",
     .direction = CONVOP_FWD,
     .level = 40,
     .applicable = refuses,
     .run = row_fails},
};

static convop_status init(const convop_host *h)
{
    host = h;
    convop_status status = CONVOP_OK;
    for (int i = 0; i < 3 && status == CONVOP_OK; i++) status = h->conv_impl_register(h, &rows[i]);
    return status;
}

CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *h, convop_plugin *plugin)
{
    (void)h;
    *plugin = PLUGIN("liar", 1, 1, init, count_exit);
}
