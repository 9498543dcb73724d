/* Registers an operator and a row, and then fails. */
#include "tests/plugins/plugin_test.h"

static const convop_op plus = PLUS_OP("Plus", 5);

static const convop_conv_impl row = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "fill",
    .direction = CONVOP_FWD,
    .level = 20,
    .applicable = row_takes_all,
    .run = row_fill,
};

static convop_status init(const convop_host *h)
{
    host = h;
    convop_status status = h->op_register(h, &plus);
    if (status == CONVOP_OK) status = h->conv_impl_register(h, &row);
    if (status != CONVOP_OK) return status;
    return h->fail(CONVOP_E_DEVICE, "the machine is too slow");
}

/* What fails here does not hide why init failed. */
static void leave(void)
{
    host->fail(CONVOP_E_INTERNAL, "exit was here");
    host->op_register(host, &plus);
    count_exit();
}

CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *h, convop_plugin *plugin)
{
    (void)h;
    *plugin = PLUGIN("fails", 1, 1, init, leave);
}
