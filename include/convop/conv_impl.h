/* Implementations of Convolution: what a row of the table is asked about, and how it computes. For
 * those who add one, built in or from a plug-in. Since 0.1. */
#ifndef CONVOP_CONV_IMPL_H
#define CONVOP_CONV_IMPL_H

#include "convop/base.h"
#include "convop/context.h"
#include "convop/convolution.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Strides of a tensor in elements. For weights n is the output channel. */
typedef struct convop_conv_strides {
    int64_t n, c, d, h, w;
} convop_conv_strides;

/** One direction of one convolution in canonical form.
 *
 *  1-D and 2-D problems are 3-D ones whose slow axes have size 1. The padding at the end follows
 * from the output size, so that unequal padding needs no member. Sizes are checked: no product of
 * them that indexes a tensor overflows. */
typedef struct convop_conv_problem {
    size_t struct_size;
    convop_conv_direction direction;
    DLDataType dtype;  /* of all tensors */
    int axes;          /* spatial axes as given, 1..3 */
    int channels_last; /* N*C, else NC* */
    int add;           /* add to the output, else overwrite it */
    int bias;          /* CONVOP_FWD: there is one */

    int64_t mb, g, ic, oc; /* ic, oc of all groups */
    int64_t id, ih, iw, od, oh, ow, kd, kh, kw;
    int64_t sd, sh, sw, dd, dh, dw, pd, ph, pw; /* dilation 1 is dense; padding at the begin */

    convop_conv_strides src, dst, weights; /* or their gradients */
    int64_t bias_stride;                   /* of bias, or of its gradient, in elements */
    int dense;                             /* src, weights, dst, residual are compact */

    /* What a choice may depend on beside the shapes. */
    size_t workspace_limit; /* bytes */
    int depthwise_conv_off, cudnn_off;
    int deterministic;
    int threads;          /* lanes of a parallel loop, at most */
    int isa;              /* in use: 0 baseline (SSE2; NEON on AArch64), 1 avx2, 2 avx512, 3 amx */
    int constant_weights; /* over many calls: what pack() makes of them costs nothing in each */
    convop_math math;     /* what is allowed; never UNSET */

    /* Where the tensors are. */
    int device_type; /* DLPack's: kDLCUDA, else it is the CPU */
    int device_id;
    const void *gpu; /* what convop knows of that GPU, for its own rows; NULL on the CPU */

    /* CONVOP_FWD: what follows the sum, of rows that have fuses(): out = activation((add ? out : 0)
     * + sum + bias + residual). Others are asked for the sum and bias alone. Since 0.1. */
    int activation; /* convop_conv_activation */
    int residual;   /* there is one */
    convop_conv_strides residual_strides;

    /* What the row's cut() made of this problem; NULL: the row has none. Since 0.1. */
    const void *cut;
} convop_conv_problem;

/** The tensors of a call. `out` is the one that the direction computes, its input counterpart is
 *  NULL: CONVOP_FWD reads src, weights, bias; CONVOP_BWD_D dst, weights; CONVOP_BWD_W dst, src;
 *  CONVOP_BWD_B dst. Addresses are multiples of the element's size, no more. */
typedef struct convop_conv_operands {
    size_t struct_size;
    const void *src, *weights, *bias, *dst;
    const void *packed; /* what the row's pack() made of weights; NULL: it was not called */
    void *out;
    void *stream;      /* a CUstream, on a GPU; work is enqueued there, and nothing waits for it */
    const void *state; /* what the row's begin() made */
    const void *residual; /* CONVOP_FWD: lies apart from out. Since 0.1 */
} convop_conv_operands;

/** Bytes for the reason why a row does not take a problem. */
#define CONVOP_WHY_SIZE 120

/** Bytes of what a row's cut() may fill, at most. */
#define CONVOP_CONV_CUT_SIZE 1024

/** A row: one way to compute one direction. Const, outlives its registration. Functions run with no
 *  lock held, in many threads at once. */
typedef struct convop_conv_impl {
    size_t struct_size;
    const char *name;
    convop_conv_direction direction;
    int version; /* counts up when its speed or its results change */
    int level;   /* 1 or more; built-in rows have CONVOP_LEVEL_BUILTIN */

    /** Pure and cheap. 0: why[] says what of the problem it does not take. It may look at all of p,
     *  the workspace limit among it; p->dense may be 0. */
    int (*applicable)(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);

    /** Scratch bytes, at most p->workspace_limit; more fails the call. Only asked where it is
     *  applicable. NULL: none. */
    size_t (*workspace)(const convop_conv_problem *p);

    /** For weights that stay the same over many calls: the bytes of a form that is faster to
     *  compute with, and how it is made. packed_bytes NULL or 0: there is none. The form is 64-byte
     *  aligned and read only once made. */
    size_t (*packed_bytes)(const convop_conv_problem *p);
    void (*pack)(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context);

    /** Computes. workspace is 64-byte aligned. Overwrites out, or adds to it if p->add; without
     *  add, out is not read. A failure leaves a sentence with convop_fail() and out as it was; the
     *  call passes both on. */
    convop_status (*run)(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace);

    /** The time that a call is expected to take, in milliseconds, for the choice among rows where
     *  nothing was measured. A pure function of the problem, its `isa` and `threads` among it, and
     *  of the CPU's cache sizes; asked only where it is applicable. NULL: not known; the row is
     * then chosen by its place in the order. Since 0.1. */
    double (*estimate)(const convop_conv_problem *p);

    /** Where its tensors are: kDLCUDA, or 0 for the CPU. It is asked about no others. Since 0.1. */
    int device_type;

    /** For a row that has more to decide than its name says (cuDNN: which engine): makes what run()
     *  finds in t->state, once for a plan, and says how many bytes of workspace that needs;
     *  workspace() is then not asked. notes: what the tuning cache has of an earlier state, "" for
     *  nothing; UNSUPPORTED where they no longer fit, and where it does not run the problem after
     *  all: the next row is taken. NULL: there is no state. Since 0.1. */
    convop_status (*begin)(const convop_conv_problem *p, const char *notes, void **state,
                           size_t *workspace_bytes);

    /** Frees a state. NULL: there is nothing to free. Since 0.1. */
    void (*end)(void *state);

    /** The state in one line of text for the tuning cache, owned by it. NULL: nothing of it is
     * kept. Since 0.1. */
    const char *(*notes)(const void *state);

    /** Shows the notes of states that compete by measurement, the most promising first, `most` at
     *  most; of rows of a GPU alone. NULL: there is one state. Since 0.1. */
    void (*alternatives)(const convop_conv_problem *p, int most,
                         void (*visit)(void *user, const char *notes), void *user);

    /** 1: run() computes this problem's activation and residual, each element rounded after the
     *  sum, then after the residual (16-bit types: once). NULL or 0: the row is given a problem
     *  without them, and they are computed in a pass after it. Since 0.1. */
    int (*fuses)(const convop_conv_problem *p);

    /** How far results may be off. 0: as far as sums of their own products in the problem's type,
     *  in some order; small integers are exact. Above 0: by up to error_bound roundoffs (2^-24 in
     *  float32) of the largest absolute input times the largest sum of absolute weights that an
     *  output has; where a NaN or infinity goes is the row's to say. Such rows do not take part if
     *  p->math is CONVOP_MATH_STRICT, and are not to be asked then. A row whose states differ in
     *  this (cuDNN's engines) has 0 here: begin() and alternatives() heed p->math, and make none
     * that is less exact than that allows. Since 0.1. */
    double error_bound;

    /** For a row all of whose answers begin with how it divides the work. It is asked in place of
     *  applicable(), which may then be NULL, and answers alike; with a 1 it has filled cut_size
     *  bytes, aligned as malloc() does, at `cut`. The row's other functions but fuses(), run()
     *  among them, find that as p->cut. A pure function of the problem; what it fills may point
     *  into itself and to p, and owns nothing: nobody ends it. Since 0.1. */
    int (*cut)(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE]);
    size_t cut_size; /* at most CONVOP_CONV_CUT_SIZE */
} convop_conv_impl;

/** Adds a row, for all plans made from now on. Rows above CONVOP_LEVEL_BUILTIN are tried before the
 *  built-in ones, the highest first; all others after them, but before the built-in "reference",
 *  which stays the last. Of rows of one name and direction only the highest level is there. The
 *  descriptor is kept until it is unregistered and nothing uses it.
 *  @return INVALID if the descriptor is incomplete (the text names the member); STATE if name and
 *          direction are taken at this level, or the name is "reference"; NO_MEMORY. Thread-safe.
 *          Since 0.1. */
CONVOP_API convop_status convop_conv_impl_register(const convop_conv_impl *impl);

/** Takes it back: no new plan has it, and what it hid is there again. released(user) is called
 * once, with no lock held, when the last plan or listing that could use it has ended, possibly
 * before this returns; then the descriptor may go. released may be NULL.
 *  @return NOT_FOUND if it is not registered, STATE for a built-in row. Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_conv_impl_unregister(const convop_conv_impl *impl,
                                                     void (*released)(void *user), void *user);

#ifdef __cplusplus
}
#endif

#endif
