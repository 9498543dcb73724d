/* Parameter text of any operator: convop_params_parse takes whatever is there without harm, leaves
 * the struct alone when it refuses, and what it accepts is written and read back to the same
 * struct. An operator of the test's own, "Sample", has a field of every kind. */
#include "fuzz.h"
#include "src/common/alloc.h"
#include "tests/support/sample_op.h"

#define FILL 0x5c

static void register_sample(void)
{
    static convop_op sample;
    if (sample.name != NULL) return;
    sample = sample_op("Sample", 1);
    FUZZ_CHECK(convop_op_register(&sample) == CONVOP_OK);
}

/* Formats every field and parses that: the same struct, but for second places, which text gives
 * the value of the first. */
static void round_trip(const convop_op *op, const void *params)
{
    const char *keys[64], *values[64];
    char *texts[64];
    size_t n = op->num_fields < 64 ? op->num_fields : 64;
    for (size_t i = 0; i < n; i++) {
        size_t length = convop_params_format(&op->fields[i], params, NULL, 0);
        texts[i] = malloc(length + 1);
        if (texts[i] == NULL) abort();
        FUZZ_CHECK(convop_params_format(&op->fields[i], params, texts[i], length + 1) == length);
        FUZZ_CHECK(strlen(texts[i]) == length);
        keys[i] = op->fields[i].name;
        values[i] = texts[i];
    }
    void *again = malloc(op->params_size);
    if (again == NULL) abort();
    FUZZ_CHECK(convop_params_parse(op, n, keys, values, again, op->params_size) == CONVOP_OK);
    FUZZ_CHECK(memcmp(again, params, op->params_size) == 0);
    free(again);
    for (size_t i = 0; i < n; i++) free(texts[i]);
}

static void parse(const convop_op *op, const struct fuzz_input *in)
{
    /* Room to the byte, so that a sanitizer sees a step beyond it. */
    unsigned char *params = malloc(op->params_size);
    if (params == NULL) abort();
    memset(params, FILL, op->params_size);
    uint64_t live = cvp_alloc_live();
    convop_status status =
        convop_params_parse(op, in->num_pairs, in->keys, in->values, params, op->params_size);
    FUZZ_CHECK(cvp_alloc_live() == live);
    if (status == CONVOP_OK) {
        size_t size;
        memcpy(&size, params, sizeof size);
        FUZZ_CHECK(size == op->params_size);
        round_trip(op, params);
    } else {
        FUZZ_CHECK(status == CONVOP_E_INVALID);
        fuzz_check_sentence();
        for (size_t i = 0; i < op->params_size; i++) FUZZ_CHECK(params[i] == FILL);
    }
    free(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    register_sample();
    struct fuzz_input in;
    fuzz_split(&in, data, size);
    const convop_op *op = NULL;
    if (convop_op_find(in.name, &op) == CONVOP_OK)
        parse(op, &in);
    else
        fuzz_check_sentence();
    convop_op_release(&op);
    free(in.text);
    return 0;
}
