/* A kind as the struct that a producer would hand over, and what becomes of that struct. */
#ifndef TESTS_DLPACK_OFFER_H
#define TESTS_DLPACK_OFFER_H

#include "tests/dlpack/kinds.h"
#include "tests/support/producer.h"

enum { OFFER_MEMORY = 2048 };

/* What a producer hands out points into this. */
extern unsigned char offer_memory[OFFER_MEMORY];

struct offer {
    const struct kind *kind;
    int versioned;
    struct producer_log log;
    DLDataType dtype;
    void *first; /* the first element's address, by data and byte_offset */
    DLManagedTensor *old;
    struct DLManagedTensorVersioned *now;
};

/* Makes the struct; *o must stay where it is, its log counts the deleter's calls. */
void offer_make(struct offer *o, const struct kind *k, int versioned);

/* Hands it to convop. A failure must have left it alone; it is the caller's then. */
convop_status offer_import(struct offer *o, convop_array **array);

/* Ends one that was refused. */
void offer_withdraw(struct offer *o);

/* After the last reference to it: its deleter has run once, or it has none. */
void offer_end(struct offer *o);

/* Elements by the producer's struct, in row-major order: how many, and the index-th one's bytes
 * from `first`. */
int64_t offer_elements(const struct offer *o);
int64_t offer_at(const struct offer *o, int64_t index);

#endif
