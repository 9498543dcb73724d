/* One GPU for `convop bench`: its memory, a stream, and events that time it. The driver is opened
 * by name, as the library opens it; nothing of CUDA is linked. For one thread, which the GPU's
 * primary context is current to between gpu_open and gpu_close.
 *
 * What fails leaves a sentence for convop_last_error. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "convop/base.h"

/* DEVICE: no driver, or no such GPU. */
convop_status gpu_open(int number);
void gpu_close(void); /* also where it was not opened */

const char *gpu_name(void);
void *gpu_stream(void); /* as convop_exec takes it */

convop_status gpu_alloc(size_t bytes, void **memory);
void gpu_free(void *memory); /* NULL is accepted */

/* Between host and GPU, done when they return; inside of the GPU, enqueued on the stream. */
convop_status gpu_write(void *to, const void *from, size_t bytes);
convop_status gpu_read(void *to, const void *from, size_t bytes);
convop_status gpu_copy(void *to, const void *from, size_t bytes);

/* How long what is enqueued on the stream between the two takes; the second waits for it. */
convop_status gpu_timer_begin(void);
convop_status gpu_timer_end(double *ms);

#endif
