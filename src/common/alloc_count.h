/* Counting and failure injection, shared by the two kinds of allocation. */
#ifndef CVP_COMMON_ALLOC_COUNT_H
#define CVP_COMMON_ALLOC_COUNT_H

/* Counts an allocation; 1 if it is the one that must answer NULL. */
int cvp_alloc_refused(void);

/* A block was handed out (1) or freed (-1). */
void cvp_alloc_count_live(int change);

#endif
