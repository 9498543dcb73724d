/* Producers' structs of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "tests/dlpack/offer.h"

_Alignas(64) unsigned char offer_memory[OFFER_MEMORY];

void offer_make(struct offer *o, const struct kind *k, int versioned)
{
    const int own_type = k->dtype.code || k->dtype.bits || k->dtype.lanes;
    const int own_version = k->major || k->minor;
    *o = (struct offer){.kind = k, .versioned = versioned};
    o->dtype = own_type ? k->dtype : (DLDataType){kDLFloat, 32, 1};
    const struct producer_tensor t = {.device =
                                          k->device.device_type ? k->device : (DLDevice){kDLCPU, 0},
                                      .dtype = o->dtype,
                                      .ndim = k->ndim,
                                      .shape = k->null_shape ? NULL : k->shape,
                                      .strides = k->null_strides ? NULL : k->strides,
                                      .data = k->null_data ? NULL : offer_memory + k->skew,
                                      .byte_offset = k->byte_offset};
    /* As integers: some of these addresses are outside of everything. */
    if (t.data != NULL) o->first = (void *)((uintptr_t)t.data + (uintptr_t)t.byte_offset);
    if (versioned) {
        o->now = producer_make_versioned(&t, &o->log, own_version ? k->major : 1,
                                         own_version ? k->minor : 3, k->flags);
        if (k->null_deleter) o->now->deleter = NULL;
    } else {
        o->old = producer_make(&t, &o->log);
        if (k->null_deleter) o->old->deleter = NULL;
    }
}

convop_status offer_import(struct offer *o, convop_array **array)
{
    unsigned char before[sizeof(struct DLManagedTensorVersioned)];
    const void *handed_over = o->versioned ? (void *)o->now : (void *)o->old;
    size_t size = o->versioned ? sizeof(*o->now) : sizeof(*o->old);
    memcpy(before, handed_over, size);
    convop_status status = o->versioned ? convop_from_dlpack_versioned(o->now, array)
                                        : convop_from_dlpack(o->old, array);
    assert_int_equal(atomic_load(&o->log.deleted), 0);
    assert_memory_equal(handed_over, before, size);
    if (status == CONVOP_OK)
        assert_non_null(*array);
    else
        assert_null(*array);
    return status;
}

static void delete_by_hand(struct offer *o)
{
    if (o->versioned)
        producer_delete_versioned(o->now);
    else
        producer_delete(o->old);
}

void offer_withdraw(struct offer *o)
{
    assert_int_equal(atomic_load(&o->log.deleted), 0);
    delete_by_hand(o);
}

void offer_end(struct offer *o)
{
    if (o->kind->null_deleter) delete_by_hand(o);
    assert_int_equal(atomic_load(&o->log.deleted), 1);
}

int64_t offer_elements(const struct offer *o)
{
    int64_t n = 1;
    for (int i = 0; i < o->kind->ndim; i++) n *= o->kind->shape[i];
    return n;
}

int64_t offer_at(const struct offer *o, int64_t index)
{
    const struct kind *k = o->kind;
    int64_t at = 0, compact = 1;
    for (int i = k->ndim - 1; i >= 0; i--) {
        at += index % k->shape[i] * (k->null_strides ? compact : k->strides[i]);
        index /= k->shape[i];
        compact *= k->shape[i];
    }
    return at * o->dtype.bits / 8;
}
