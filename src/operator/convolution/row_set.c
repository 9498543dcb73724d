/* The built-in rows, and how those registered at run time are sorted in between them. */
#include "src/operator/convolution/row_set.h"

#include <stdatomic.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"

#define CONV_GROUP(direction, device)
#define CONV_IMPL(row) extern const convop_conv_impl row;
#include "src/operator/convolution/impl_list.h"
#undef CONV_IMPL

static const convop_conv_impl *const builtin[] = {
#define CONV_IMPL(row) &row,
#include "src/operator/convolution/impl_list.h"
#undef CONV_IMPL
};
#undef CONV_GROUP

/* Where each group begins. BEFORE makes the row that follows have the group's own number. */
enum {
#define CONV_GROUP(direction, device)                                                              \
    FIRST_##direction##_##device, BEFORE_##direction##_##device = FIRST_##direction##_##device - 1,
#define CONV_IMPL(row) PLACE_##row,
#include "src/operator/convolution/impl_list.h"
#undef CONV_IMPL
#undef CONV_GROUP
    NUM_BUILTIN
};

const struct conv_rows cvp_conv_builtin_rows = {
    .at = builtin,
    .first = {FIRST_CONVOP_FWD_CPU, FIRST_CONVOP_FWD_GPU, FIRST_CONVOP_BWD_D_CPU,
              FIRST_CONVOP_BWD_D_GPU, FIRST_CONVOP_BWD_W_CPU, FIRST_CONVOP_BWD_W_GPU,
              FIRST_CONVOP_BWD_B_CPU, FIRST_CONVOP_BWD_B_GPU, NUM_BUILTIN},
};

int cvp_conv_row_is_builtin(const convop_conv_impl *impl)
{
    for (size_t i = 0; i < NUM_BUILTIN; i++)
        if (builtin[i] == impl) return 1;
    return 0;
}

int cvp_conv_rows_rival(const convop_conv_impl *a, const convop_conv_impl *b)
{
    return a->direction == b->direction && strcmp(a->name, b->name) == 0 &&
           cvp_conv_row_is_on_gpu(a) == cvp_conv_row_is_on_gpu(b);
}

struct conv_row_set *cvp_conv_row_set_create(size_t room)
{
    size_t pointers, bytes;
    if (!cvp_mul_size(room, 2, &pointers) || !cvp_add_size(pointers, NUM_BUILTIN, &pointers) ||
        !cvp_mul_size(pointers, sizeof(void *), &bytes) ||
        !cvp_add_size(bytes, sizeof(struct conv_row_set), &bytes))
        return NULL;
    struct conv_row_set *set = cvp_calloc(1, bytes);
    if (!set) return NULL;
    set->room = room;
    set->held = (struct conv_row_entry **)(set + 1);
    set->at = (void *)(set->held + room);
    return set;
}

static int is_hidden(const convop_conv_impl *impl, const struct conv_row_entry *registered)
{
    for (const struct conv_row_entry *e = registered; e; e = e->next)
        if (e->impl->level > impl->level && cvp_conv_rows_rival(e->impl, impl)) return 1;
    for (size_t i = 0; i < NUM_BUILTIN; i++)
        if (builtin[i]->level > impl->level && cvp_conv_rows_rival(builtin[i], impl)) return 1;
    return 0;
}

/* Adds rows to the group that `count` is the end of. */
static void add_builtin(struct conv_row_set *set, const struct conv_row_entry *registered,
                        size_t group, size_t *count, int last_resort)
{
    const size_t *first = &cvp_conv_builtin_rows.first[group];
    for (size_t i = first[0]; i < first[1]; i++)
        if ((strcmp(builtin[i]->name, CONV_REFERENCE) == 0) == last_resort &&
            !is_hidden(builtin[i], registered))
            set->at[(*count)++] = builtin[i];
}

static void add_registered(struct conv_row_set *set, struct conv_row_entry *registered,
                           size_t group, size_t *count, int first)
{
    for (struct conv_row_entry *e = registered; e; e = e->next) {
        if (cvp_conv_group_of(e->impl) != group ||
            (e->impl->level > CONVOP_LEVEL_BUILTIN) != first || is_hidden(e->impl, registered))
            continue;
        set->at[(*count)++] = e->impl;
        set->held[set->num_held++] = e;
        e->refs++;
    }
}

/* FNV-1a over what tells rows apart. */
static uint64_t identity_of(const struct conv_rows *rows)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < rows->first[CONV_GROUPS]; i++) {
        const convop_conv_impl *row = rows->at[i];
        const int numbers[] = {(int)row->direction, row->version, row->level,
                               cvp_conv_row_is_on_gpu(row)};
        const unsigned char *bytes = (const unsigned char *)numbers;
        for (size_t j = 0; j < sizeof numbers; j++)
            hash = (hash ^ bytes[j]) * UINT64_C(0x100000001b3);
        for (const char *c = row->name;; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
            if (!*c) break;
        }
    }
    return hash;
}

void cvp_conv_row_set_fill(struct conv_row_set *set, struct conv_row_entry *registered)
{
    set->rows = (struct conv_rows){.at = set->at, .set = set};
    set->num_held = 0;
    for (size_t group = 0; group < CONV_GROUPS; group++) {
        size_t count = set->rows.first[group];
        add_registered(set, registered, group, &count, 1);
        add_builtin(set, registered, group, &count, 0);
        add_registered(set, registered, group, &count, 0);
        add_builtin(set, registered, group, &count, 1);
        set->rows.first[group + 1] = count;
    }
    set->rows.identity = identity_of(&set->rows);
}

uint64_t cvp_conv_rows_identity(const struct conv_rows *rows)
{
    static _Atomic uint64_t builtin_rows;
    if (rows->set) return rows->identity;
    uint64_t known = atomic_load_explicit(&builtin_rows, memory_order_relaxed);
    if (known) return known;
    known = identity_of(rows);
    atomic_store_explicit(&builtin_rows, known, memory_order_relaxed);
    return known;
}
