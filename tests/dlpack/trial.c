/* The way of one kind through convop. Elements are found by what the producer's struct says, never
 * by what convop made of it; the expected sums are a plain loop in float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>

#include "convop/convolution.h"
#include "src/common/alloc.h"
#include "tests/cases/element.h"
#include "tests/dlpack/offer.h"
#include "tests/dlpack/trial.h"
#include "tests/support/expect.h"

/* Most elements and channels of a kind that a convolution takes. */
enum { MOST = 48, CHANNELS = 2, TAPS = 9, WEIGHTS = CHANNELS * CHANNELS * TAPS };

/* ---- the convolution: 3x3, padding 1, as many channels out as in ------------------------------
 */

/* A kind's sizes as an image; a scalar is one of one pixel, other ranks are left as they are. */
struct image {
    int64_t shape[4], strides[4];
    DLTensor view;
};

static void as_image(struct image *image, const DLTensor *view)
{
    image->view = *view;
    if (view->ndim != 0) return;
    for (int i = 0; i < 4; i++) image->shape[i] = image->strides[i] = 1;
    image->view.ndim = 4;
    image->view.shape = image->shape;
    image->view.strides = image->strides;
}

/* Compact tensors of the other side and of the weights, in the kind's type. */
struct other {
    _Alignas(64) unsigned char data[MOST * sizeof(double)], weights[WEIGHTS * sizeof(double)];
    int64_t shape[4];
};

/* Small integers: every type has them and their sums, so that results are exact. */
static double weight_at(int64_t i)
{
    return (double)(i * 7 % 5) - 2;
}

static double sample_at(int64_t i)
{
    return (double)(i * 11 % 5) - 2;
}

static int is_computed(DLDataType type)
{
    return type.lanes == 1 && ((type.code == kDLFloat && type.bits >= 16) ||
                               (type.code == kDLBfloat && type.bits == 16));
}

/* Of the kind's view: dst from other->data, or other->data from src. */
static convop_status convolve(const DLTensor *view, int as_output, struct other *other)
{
    struct image image;
    as_image(&image, view);
    const DLTensor *const t = &image.view;
    int64_t channels = t->ndim == 4 ? t->shape[1] : 1;
    int64_t filter[4] = {channels, channels, 3, 3};
    DLTensor weights = *t, opposite = *t;
    weights.device = opposite.device = (DLDevice){kDLCPU, 0};
    weights.strides = opposite.strides = NULL;
    weights.ndim = 4;
    weights.shape = filter;
    weights.data = other->weights;
    opposite.data = other->data;
    if (is_computed(t->dtype))
        for (int64_t i = 0; i < channels * channels * TAPS; i++)
            element_set(t->dtype, other->weights + i * t->dtype.bits / 8, weight_at(i));
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(3, 3);
    p.pad_begin = p.pad_end = convop_tuple2(1, 1);
    p.num_filter = channels;
    p.no_bias = 1;
    return convop_conv_forward(&p, as_output ? &opposite : t, &weights, NULL,
                               as_output ? &image.view : &opposite, CONVOP_REQ_WRITE, NULL);
}

/* src and dst in row-major order. */
static void expected_sums(const struct kind *k, const double *src, double *dst)
{
    static const int64_t pixel[4] = {1, 1, 1, 1};
    const int64_t *const s = k->ndim == 0 ? pixel : k->shape;
    const int64_t c = s[1], h = s[2], w = s[3];
    for (int64_t i = 0; i < s[0] * c * h * w; i++) {
        const int64_t x = i % w, y = i / w % h, o = i / w / h % c, n = i / w / h / c;
        dst[i] = 0;
        for (int64_t tap = 0; tap < c * TAPS; tap++) {
            const int64_t in = tap / TAPS, ky = y + tap % TAPS / 3 - 1, kx = x + tap % 3 - 1;
            if (ky < 0 || ky >= h || kx < 0 || kx >= w) continue;
            dst[i] += src[((n * c + in) * h + ky) * w + kx] * weight_at(o * c * TAPS + tap);
        }
    }
}

/* ---- the two uses -----------------------------------------------------------------------------
 */

static enum kind_answer read_it(struct offer *o, convop_array *array)
{
    static unsigned char before[OFFER_MEMORY];
    double src[MOST], dst[MOST];
    struct other other;
    const int computed = is_computed(o->dtype), bytes = o->dtype.bits / 8;
    int64_t n = offer_elements(o);
    assert_true(n <= MOST);
    memset(&other, 0, sizeof(other));
    memset(offer_memory, 0, sizeof(offer_memory));
    for (int64_t i = 0; computed && i < n; i++) {
        unsigned char *at = (unsigned char *)o->first + offer_at(o, i);
        src[i] = sample_at(offer_at(o, i) / bytes);
        element_set(o->dtype, at, src[i]);
    }
    memcpy(before, offer_memory, sizeof(before));
    convop_status status = convolve(convop_array_view(array), 0, &other);
    assert_memory_equal(offer_memory, before, sizeof(before));
    if (status != CONVOP_OK) return KIND_CARRIED;
    if (n > 0) expected_sums(o->kind, src, dst);
    for (int64_t i = 0; i < n; i++)
        assert_true(element_get(o->dtype, other.data + i * bytes) == dst[i]);
    return KIND_TAKEN;
}

/* Nothing but the elements is written: gaps and what lies around keep their bytes. */
static enum kind_answer write_it(struct offer *o, convop_array *array)
{
    static unsigned char after[OFFER_MEMORY];
    double src[MOST], dst[MOST];
    struct other other;
    DLTensor *view;
    const int computed = is_computed(o->dtype), bytes = o->dtype.bits / 8;
    int64_t n = offer_elements(o);
    memset(&other, 0, sizeof(other));
    memset(offer_memory, 0xa5, sizeof(offer_memory));
    memset(after, 0xa5, sizeof(after));
    if (convop_array_writable(array, &view) != CONVOP_OK) return KIND_REFUSED;
    assert_ptr_equal(view->data, o->first);
    for (int64_t i = 0; computed && i < n; i++) {
        src[i] = sample_at(i);
        element_set(o->dtype, other.data + i * bytes, src[i]);
    }
    convop_status status = convolve(view, 1, &other);
    if (status == CONVOP_OK && n > 0) {
        expected_sums(o->kind, src, dst);
        for (int64_t i = 0; i < n; i++)
            element_set(o->dtype,
                        after + ((unsigned char *)o->first - offer_memory) + offer_at(o, i),
                        dst[i]);
    }
    assert_memory_equal(offer_memory, after, sizeof(after));
    return status == CONVOP_OK ? KIND_TAKEN : KIND_CARRIED;
}

/* ---- the exports ------------------------------------------------------------------------------
 */

/* What every consumer may rely on, old ones too. */
static void check_export(const struct offer *o, const DLTensor *t)
{
    assert_ptr_equal(t->data, o->first);
    assert_true(t->byte_offset == 0);
    assert_int_equal(t->device.device_type, kDLCPU);
    assert_int_equal(t->device.device_id, 0);
    assert_int_equal(t->ndim, o->kind->ndim);
    assert_memory_equal(&t->dtype, &o->dtype, sizeof(o->dtype));
    if (t->ndim == 0) {
        assert_null(t->shape);
        assert_null(t->strides);
        return;
    }
    assert_memory_equal(t->shape, o->kind->shape, (size_t)t->ndim * sizeof(*t->shape));
    int64_t compact = 1;
    int is_empty = offer_elements(o) == 0;
    for (int i = t->ndim - 1; i >= 0; i--) {
        int given = t->shape[i] > 1 && !is_empty && !o->kind->null_strides;
        if (given) assert_int_equal(t->strides[i], o->kind->strides[i]);
        if (is_empty || o->kind->null_strides) assert_int_equal(t->strides[i], compact);
        assert_true(t->strides[i] >= 0);
        compact *= t->shape[i] > 1 ? t->shape[i] : 1;
    }
}

static void *delete_versioned(void *managed)
{
    ((struct DLManagedTensorVersioned *)managed)->deleter(managed);
    return NULL;
}

/* Drops the array while two exports still hold it; the last of them ends on another thread. */
static void export_it(struct offer *o, convop_array *array)
{
    const int read_only = o->versioned && (o->kind->flags & 1);
    DLManagedTensor *old = NULL;
    struct DLManagedTensorVersioned *now = NULL;
    expect_ok(convop_to_dlpack_versioned(array, &now));
    assert_non_null(now->deleter);
    assert_int_equal(now->version.major, 1);
    assert_int_equal(now->version.minor, 3);
    assert_int_equal(now->flags, read_only);
    check_export(o, &now->dl_tensor);
    if (read_only) {
        assert_int_equal(convop_to_dlpack(array, &old), CONVOP_E_INVALID);
        assert_non_null(strstr(convop_last_error(), "read-only"));
        assert_null(old);
    } else {
        expect_ok(convop_to_dlpack(array, &old));
        assert_non_null(old->deleter);
        check_export(o, &old->dl_tensor);
    }
    convop_array_release(&array);
    if (old != NULL) old->deleter(old);
    assert_int_equal(atomic_load(&o->log.deleted), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, delete_versioned, now), 0);
    pthread_join(thread, NULL);
    offer_end(o);
}

struct trial trial_run(const struct kind *k, int versioned)
{
    struct trial trial = {KIND_REFUSED, KIND_REFUSED, ""};
    struct offer o;
    convop_array *array = (convop_array *)&o;
    offer_make(&o, k, versioned);
    uint64_t live = cvp_alloc_live();
    if (offer_import(&o, &array) != CONVOP_OK) {
        snprintf(trial.says, sizeof(trial.says), "%s", convop_last_error());
        assert_int_equal(cvp_alloc_live(), live);
        offer_withdraw(&o);
        return trial;
    }
    assert_ptr_equal(convop_array_view(array)->data, o.first);
    trial.input = read_it(&o, array);
    if (trial.input != KIND_TAKEN)
        snprintf(trial.says, sizeof(trial.says), "%s", convop_last_error());
    trial.output = write_it(&o, array);
    if (trial.output != KIND_TAKEN && trial.says[0] == '\0')
        snprintf(trial.says, sizeof(trial.says), "%s", convop_last_error());
    export_it(&o, array);
    return trial;
}

/* ---- no memory --------------------------------------------------------------------------------
 */

void trial_without_memory(const struct kind *k, int versioned)
{
    uint64_t failures = 0;
    for (uint64_t n = 1;; n++) {
        struct offer o;
        convop_array *array = NULL;
        DLManagedTensor *old = NULL;
        struct DLManagedTensorVersioned *now = NULL, *fresh = NULL;
        offer_make(&o, k, versioned);
        DLTensor prototype = versioned ? o.now->dl_tensor : o.old->dl_tensor;
        prototype.device = (DLDevice){kDLCPU, 0};
        uint64_t live = cvp_alloc_live();
        cvp_alloc_fail_at(n);
        convop_status imported = offer_import(&o, &array), exported = CONVOP_OK;
        if (array != NULL) exported = convop_to_dlpack_versioned(array, &now);
        if (exported == CONVOP_OK && array != NULL && !(k->flags & 1))
            exported = convop_to_dlpack(array, &old);
        int allocated = convop_dlpack_allocate(&prototype, &fresh, NULL, NULL);
        uint64_t calls = cvp_alloc_calls();
        cvp_alloc_fail_at(0);
        int failed = imported != CONVOP_OK || exported != CONVOP_OK || allocated != 0;
        assert_int_equal(failed, calls >= n);
        if (failed) assert_non_null(strstr(convop_last_error(), "no memory"));
        failures += (uint64_t)failed;
        if (imported != CONVOP_OK) assert_int_equal(imported, CONVOP_E_NO_MEMORY);
        if (exported != CONVOP_OK) assert_int_equal(exported, CONVOP_E_NO_MEMORY);
        if (allocated != 0) assert_null(fresh);
        if (old != NULL) old->deleter(old);
        if (now != NULL) now->deleter(now);
        if (fresh != NULL) fresh->deleter(fresh);
        assert_int_equal(atomic_load(&o.log.deleted), 0);
        if (array == NULL) {
            offer_withdraw(&o);
        } else {
            convop_array_release(&array);
            offer_end(&o);
        }
        assert_int_equal(cvp_alloc_live(), live);
        if (!failed) break;
    }
    assert_true(failures >= 3); /* the import, an export, a tensor of its kind */
}
