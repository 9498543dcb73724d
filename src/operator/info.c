/* convop_info: what was found on this machine. One row of the table an item. */
#include "convop/info.h"

#include <string.h>

#include "convop/context.h"
#include "convop/version.h"
#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/file.h"
#include "src/common/settings.h"
#include "src/common/status.h"
#include "src/common/text.h"
#include "src/cuda/cudnn.h"
#include "src/cuda/device.h"
#include "src/operator/convolution/cuda/module.h"
#include "src/operator/gemm/blas.h"
#include "src/operator/tuning/tuning.h"

#define TRANSPARENT_HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"

/* Appends to the item's two texts, which are empty. */
typedef void fill_item(struct cvp_text *value, struct cvp_text *why);

static void fill_version(struct cvp_text *value, struct cvp_text *why)
{
    (void)why;
    cvp_text_add(value, "%s", convop_version_string());
}

static void fill_cpu(struct cvp_text *value, struct cvp_text *why)
{
    const char *name = cvp_cpu()->name;
    cvp_text_add(value, "%s", name[0] ? name : "unknown");
    cvp_text_add(why, "its highest instruction set is %s", cvp_isa_name(cvp_cpu()->isa));
}

static void fill_isa(struct cvp_text *value, struct cvp_text *why)
{
    enum cvp_isa isa;
    if (cvp_isa_in_use(&isa) != CONVOP_OK) {
        cvp_text_add(value, "none");
        cvp_text_add(why, "%s", convop_last_error());
        return;
    }
    cvp_text_add(value, "%s", cvp_isa_name(isa));
    if (isa == cvp_cpu()->isa)
        cvp_text_add(why, "the highest that the CPU has");
    else if (cvp_setting_int_or(CVP_SETTING_ISA, CVP_ISA_AUTO) != CVP_ISA_AUTO)
        cvp_text_add(why, "capped by the setting isa");
    else if (isa == cvp_isa_best())
        cvp_text_add(why, "the highest that this library is compiled for");
    else
        cvp_text_add(why, "the system refuses the tiles of amx: %s",
                     strerror(cvp_isa_tiles_refused()));
}

static void fill_processors(struct cvp_text *value, struct cvp_text *why)
{
    cvp_text_add(value, "%d", cvp_cpu()->processors);
    cvp_text_add(why, "as affinity and the control group allow");
}

static void fill_threads(struct cvp_text *value, struct cvp_text *why)
{
    int threads = convop_context_num_threads(NULL);
    if (threads > 0) {
        cvp_text_add(value, "%d", threads);
        cvp_text_add(why, "of a parallel loop, the caller's among them");
    } else {
        cvp_text_add(value, "none");
        cvp_text_add(why, "the setting num_threads does not parse");
    }
}

static void fill_caches(struct cvp_text *value, struct cvp_text *why)
{
    const struct cvp_cpu *cpu = cvp_cpu();
    const int64_t sizes[] = {cpu->l1d, cpu->l2, cpu->l3};
    static const char *const names[] = {"L1d", "L2", "L3"};
    for (int i = 0; i < 3; i++) {
        cvp_text_add(value, i ? ", %s " : "%s ", names[i]);
        if (sizes[i] > 0)
            cvp_text_add(value, "%lld KiB", (long long)(sizes[i] / 1024));
        else
            cvp_text_add(value, "unknown");
    }
    (void)why;
}

/* The file reads "always [madvise] never": the word in brackets is in force. */
static void fill_huge_pages(struct cvp_text *value, struct cvp_text *why)
{
    char text[128];
    size_t length = cvp_file_text(TRANSPARENT_HUGE_PAGES, text, sizeof text);
    const char *open = length ? strchr(text, '[') : NULL;
    size_t word = open ? strcspn(open + 1, "]") : 0;
    if (!open || open[1 + word] != ']') {
        cvp_text_add(value, "unknown");
        cvp_text_add(why, TRANSPARENT_HUGE_PAGES " cannot be read");
        return;
    }
    cvp_text_add(value, "%.*s", (int)word, open + 1);
    cvp_text_add(why, strncmp(open + 1, "never", word) == 0
                          ? "large buffers lie in small pages, which costs speed"
                          : "large buffers ask for them");
}

static void fill_memory(struct cvp_text *value, struct cvp_text *why)
{
    size_t used, kept;
    cvp_pool_usage(&used, &kept);
    cvp_text_add(value, "%zu bytes in use, %zu kept for later", used, kept);
    cvp_text_add(why, "buffers of the default allocator");
}

static void fill_openblas(struct cvp_text *value, struct cvp_text *why)
{
    (void)why;
    char text[256];
    cvp_blas_describe(text, sizeof text);
    cvp_text_add(value, "%s", text);
}

static void fill_tuning(struct cvp_text *value, struct cvp_text *why)
{
    char path[sizeof(((convop_info_item *)NULL)->value)], reason[160];
    size_t length = convop_tune_path(path, sizeof path, reason, sizeof reason);
    cvp_text_add(value, "%s", length ? path : "none");
    cvp_text_add(why, "%zu records", cvp_tune_count());
    if (reason[0]) cvp_text_add(why, "; kept in memory only: %s", reason);
}

static const struct {
    const char *name;
    fill_item *fill;
} items[] = {
    {"version", fill_version},
    {"cpu", fill_cpu},
    {"instruction set", fill_isa},
    {"processors", fill_processors},
    {"threads", fill_threads},
    {"caches", fill_caches},
    {"huge pages", fill_huge_pages},
    {"memory pool", fill_memory},
    {"openblas", fill_openblas},
    {"tuning cache", fill_tuning},
    {"cuda driver", cvp_driver_describe},
    {"cuda kernels", cvp_cuda_describe_kernels},
    {"cudnn", cvp_cudnn_describe},
    {"gpu", cvp_gpu_describe},
};

convop_status convop_info(size_t index, convop_info_item *item)
{
    const size_t count = sizeof items / sizeof items[0];
    if (item == NULL) return convop_fail(CONVOP_E_INVALID, "convop_info: item is NULL");
    if (item->struct_size < sizeof *item)
        return convop_fail(CONVOP_E_INVALID, "convop_info: struct_size is %zu, want %zu",
                           item->struct_size, sizeof *item);
    if (index >= count)
        return convop_fail(CONVOP_E_NOT_FOUND, "convop_info: index is %zu, there are %zu items",
                           index, count);
    convop_info_item found = {.struct_size = item->struct_size, .name = items[index].name};
    struct cvp_text value = cvp_text_in(found.value, sizeof found.value);
    struct cvp_text why = cvp_text_in(found.why, sizeof found.why);
    items[index].fill(&value, &why);
    *item = found;
    return CONVOP_OK;
}
