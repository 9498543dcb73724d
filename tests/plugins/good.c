/* One of everything: an operator, a row, an attribute of a built-in operator. */
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

static const int cost = 7;
static const convop_attr attr = {sizeof(convop_attr), "cost", "int", &cost};

static convop_status init(const convop_host *h)
{
    host = h;
    convop_status status = h->op_register(h, &plus);
    if (status == CONVOP_OK) status = h->conv_impl_register(h, &row);
    if (status == CONVOP_OK) status = h->attr_register(h, "Convolution", &attr, 20);
    h->log(h, NULL, 1, "speaks ABI %d", h->abi);
    return status;
}

CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *h, convop_plugin *plugin)
{
    (void)h;
    *plugin = PLUGIN("good", 1, 3, init, count_exit);
}
