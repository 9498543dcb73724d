/* The line of a call of an operator, for those who asked for lines. */
#include "src/common/log.h"
#include "src/common/tensor.h"
#include "src/common/text.h"
#include "src/engine/context.h"
#include "src/operator/call.h"

int cvp_call_writes_line(const struct cvp_call *call)
{
    if (!cvp_verbose(1)) return 0;
    /* Not those of which a part each has its own line: Convolution's directions. */
    for (size_t i = 0; i < call->op->num_attrs; i++)
        if (call->op->attrs[i].value == &cvp_own_lines) return 0;
    return 1;
}

const char cvp_own_lines = 1;

static void put_tensor(struct cvp_text *t, const DLTensor *tensor, int is_first)
{
    char name[16];
    cvp_text_add(t, "%s", is_first ? "" : "+");
    if (!tensor) {
        cvp_text_add(t, "-");
        return;
    }
    cvp_text_add(t, "%s:", cvp_dtype_name(tensor->dtype, name));
    for (int i = 0; i < tensor->ndim; i++)
        cvp_text_add(t, i ? "x%lld" : "%lld", (long long)tensor->shape[i]);
}

void cvp_call_write_line(const struct cvp_call *call, double ms)
{
    char inputs[384], outputs[384];
    struct cvp_text in = cvp_text_in(inputs, sizeof inputs);
    struct cvp_text out = cvp_text_in(outputs, sizeof outputs);
    for (int i = 0; i < call->args.num_inputs; i++) put_tensor(&in, call->args.inputs[i], i == 0);
    for (int i = 0; i < call->args.num_outputs; i++) put_tensor(&out, call->outputs[i], i == 0);
    cvp_log(&call->args.context->sink, "op,%s,%s,%s,%s,%.4f", call->op->name,
            call->args.is_train ? "train" : "-", inputs, outputs, ms);
}
