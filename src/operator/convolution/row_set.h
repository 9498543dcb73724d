/* Sets of rows: the order of the rows at one moment, and who was registered then. */
#ifndef CVP_CONV_ROW_SET_H
#define CVP_CONV_ROW_SET_H

#include "src/operator/convolution/impl.h"

/* A row that is registered, or that is not any more and may still be in use. */
struct conv_row_entry {
    struct conv_row_entry *next; /* levels fall; of equal levels the first that was registered */
    const convop_conv_impl *impl;
    uint64_t refs; /* one while it is registered, and one of each set that has it */
    void (*released)(void *user);
    void *user;
    /* Room for the set without some row, made when it was registered, so that taking a row back
     * needs no memory. NULL once used. */
    struct conv_row_set *spare;
};

/* Its rows are immutable once it is published. */
struct conv_row_set {
    struct conv_rows rows;
    uint64_t refs; /* the table's own, and those of plans and listings */
    size_t room;   /* for registered rows */
    const convop_conv_impl **at;
    struct conv_row_entry **held; /* those of `at` that are registered */
    size_t num_held;
};

extern const struct conv_rows cvp_conv_builtin_rows;

int cvp_conv_row_is_builtin(const convop_conv_impl *impl);

/* 1 if rows of this name and direction exclude each other. */
int cvp_conv_rows_rival(const convop_conv_impl *a, const convop_conv_impl *b);

/* An empty set with room for n registered rows; NULL without memory. Freed by cvp_free. */
struct conv_row_set *cvp_conv_row_set_create(size_t room);

/* Fills it, and takes a reference to each row of the list that is in it. Allocates nothing. */
void cvp_conv_row_set_fill(struct conv_row_set *set, struct conv_row_entry *registered);

#endif
