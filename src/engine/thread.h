/* Starting a thread of the library: it takes no signal of the host's and computes as if by default.
 */
#ifndef CVP_ENGINE_THREAD_H
#define CVP_ENGINE_THREAD_H

#include <pthread.h>

#include "convop/base.h"

#define CVP_MAX_THREADS 4096

/* Starts a thread that blocks all signals. 1, or 0 if the system refuses. */
int cvp_thread_start(pthread_t *thread, void *(*body)(void *arg), void *arg);

/* The first thing in a thread's body. A thread inherits the floating-point environment of the one
 * that made it, which may flush denormals or round upwards. */
void cvp_thread_defaults(void);

/* How many threads to use: `asked`, or for 0 the setting "num_threads", or for 0
 * again the processors that this process may use; 1..CVP_MAX_THREADS. INVALID if the setting does
 * not parse. */
convop_status cvp_thread_count(int asked, int *count);

/* For tests: from now on the first n starts succeed and the rest is refused; -1 refuses none. */
void cvp_thread_refuse_after(int n);

#endif
