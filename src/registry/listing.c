/* A snapshot of the operators that are found by name. It holds a reference to each, so that nothing
 * in it goes away under its reader. */
#include <stdlib.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/registry/table.h"

struct convop_op_listing {
    size_t count;
    const convop_op *ops[];
};

static int by_name(const void *a, const void *b)
{
    const convop_op *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* With the lock held: takes references while there is room, returns how many there would be. */
static size_t take_all(convop_op_listing *listing, size_t room)
{
    size_t n = 0;
    const convop_op *op;
    for (struct cvp_op_cursor c = cvp_table_begin(); (op = cvp_table_next(&c)) != NULL;)
        if (cvp_table_find(op->name) == op) n++;
    if (n > room) return n;
    for (struct cvp_op_cursor c = cvp_table_begin(); (op = cvp_table_next(&c)) != NULL;) {
        if (cvp_table_find(op->name) != op) continue;
        cvp_table_ref(op);
        listing->ops[listing->count++] = op;
    }
    return n;
}

convop_status convop_op_list(convop_op_listing **out)
{
    if (!out) return convop_fail(CONVOP_E_INVALID, "convop_op_list: out is NULL");
    *out = NULL;
    /* Room is made with the lock free; when operators come in between, it is made again. */
    convop_op_listing *listing = NULL;
    size_t room = 0;
    for (;;) {
        cvp_table_lock();
        const size_t n = take_all(listing, listing ? room : 0);
        cvp_table_unlock();
        if (listing && n <= room) break;
        cvp_free(listing);
        room = n;
        listing = cvp_calloc(1, sizeof *listing + room * sizeof listing->ops[0]);
        if (!listing)
            return convop_fail(CONVOP_E_NO_MEMORY, "convop_op_list: no memory for %zu operators",
                               room);
    }
    qsort(listing->ops, listing->count, sizeof listing->ops[0], by_name);
    *out = listing;
    return CONVOP_OK;
}

size_t convop_op_listing_count(const convop_op_listing *listing)
{
    return listing ? listing->count : 0;
}

const convop_op *convop_op_listing_at(const convop_op_listing *listing, size_t index)
{
    return listing && index < listing->count ? listing->ops[index] : NULL;
}

void convop_op_listing_destroy(convop_op_listing **listing)
{
    if (!listing || !*listing) return;
    convop_op_listing *was = *listing;
    *listing = NULL;
    for (size_t i = 0; i < was->count; i++) convop_op_release(&was->ops[i]);
    cvp_free(was);
}
