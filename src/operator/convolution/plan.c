/* Planning and running one direction of the convolution. */
#include "src/operator/convolution/plan.h"

#include "src/common/alloc.h"
#include "src/common/clock.h"
#include "src/common/log.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/copy.h"

static int strides_equal(struct conv_strides a, struct conv_strides b)
{
    return a.n == b.n && a.c == b.c && a.d == b.d && a.h == b.h && a.w == b.w;
}

/* The sizes of the three tensors in the order n, c, d, h, w. */
struct extents {
    int64_t at[5];
};

static struct extents src_extents(const struct conv_problem *p)
{
    return (struct extents){{p->mb, p->ic, p->id, p->ih, p->iw}};
}

static struct extents dst_extents(const struct conv_problem *p)
{
    return (struct extents){{p->mb, p->oc, p->od, p->oh, p->ow}};
}

static struct extents weights_extents(const struct conv_problem *p)
{
    return (struct extents){{p->oc, p->ic / p->g, p->kd, p->kh, p->kw}};
}

/* Bytes of a compact copy in the workspace; inference has bounded the product. */
static size_t copy_bytes(const struct conv_problem *p, struct extents e)
{
    size_t n = cvp_conv_element_size(p);
    for (int i = 0; i < 5; i++) n *= (size_t)e.at[i];
    return cvp_round_up(n, CVP_BUFFER_ALIGN);
}

/* The plan with copies of what is not compact; 0 if they exceed the limit. */
static int plan_copies(struct conv_plan *plan, size_t *bytes)
{
    struct conv_problem *p = &plan->problem;
    cvp_conv_problem_make_dense(p);
    plan->copy_src = !strides_equal(plan->src, p->src);
    plan->copy_weights = !strides_equal(plan->weights, p->weights);
    plan->copy_dst = !strides_equal(plan->dst, p->dst);
    *bytes = 0;
    if (plan->copy_src && !cvp_add_size(*bytes, copy_bytes(p, src_extents(p)), bytes)) return 0;
    if (plan->copy_weights && !cvp_add_size(*bytes, copy_bytes(p, weights_extents(p)), bytes))
        return 0;
    if (plan->copy_dst && !cvp_add_size(*bytes, copy_bytes(p, dst_extents(p)), bytes)) return 0;
    if (*bytes > p->workspace_limit) return 0;
    p->workspace_limit -= *bytes;
    return 1;
}

convop_status cvp_conv_plan_init(struct conv_plan *plan, const struct conv_problem *p)
{
    *plan = (struct conv_plan){.problem = *p, .src = p->src, .weights = p->weights, .dst = p->dst};
    size_t copies = 0;
    /* The bias gradient reads diff_dst once, whatever its strides: a copy would be a second pass.
     */
    if (!p->dense && p->dir != CONVOP_BWD_B && !plan_copies(plan, &copies)) {
        plan->problem = *p;
        plan->copy_src = plan->copy_weights = plan->copy_dst = 0;
        copies = 0;
    }
    CVP_RETURN_IF_ERROR(cvp_conv_select(&plan->problem, &plan->impl));
    plan->row_bytes = plan->impl->workspace(&plan->problem);
    if (!cvp_add_size(copies, plan->row_bytes, &plan->bytes))
        return convop_fail(CONVOP_E_INTERNAL, "Convolution: the workspace of %s overflows",
                           plan->impl->name);
    return CONVOP_OK;
}

/* ---- run ---------------------------------------------------------------------------------- */

struct run {
    const struct conv_plan *plan;
    const convop_context *context;
    char *next; /* of the workspace */
};

static void copy(const struct run *run, struct extents e, void *to, struct conv_strides ts,
                 const void *from, struct conv_strides fs)
{
    const int64_t to_strides[5] = {ts.n, ts.c, ts.d, ts.h, ts.w};
    const int64_t from_strides[5] = {fs.n, fs.c, fs.d, fs.h, fs.w};
    cvp_copy_strided(run->context, cvp_conv_element_size(&run->plan->problem), 5, e.at, to,
                     to_strides, from, from_strides);
}

/* A compact copy of an input in the workspace. NULL stays NULL. */
static const void *gather(struct run *run, struct extents e, const void *from,
                          struct conv_strides fs, struct conv_strides dense)
{
    if (!from) return NULL;
    void *to = run->next;
    run->next += copy_bytes(&run->plan->problem, e);
    copy(run, e, to, dense, from, fs);
    return to;
}

static convop_status run_row(const struct conv_plan *plan, const struct conv_operands *t,
                             const convop_context *context, void *workspace)
{
    if (!cvp_verbose(1)) return plan->impl->run(&plan->problem, t, context, workspace);
    double start = cvp_now_ms();
    convop_status status = plan->impl->run(&plan->problem, t, context, workspace);
    double ms = cvp_now_ms() - start;
    char problem[256], tensors[32];
    cvp_conv_problem_describe(&plan->problem, problem, sizeof problem);
    cvp_conv_problem_describe_tensors(&plan->problem, tensors, sizeof tensors);
    cvp_log(&context->sink, "exec,Convolution,%s,%s:%s,%s,%s,%.3f",
            cvp_conv_direction_name(plan->problem.dir), plan->impl->name,
            cvp_isa_name(plan->problem.isa), tensors, problem, ms);
    return status;
}

convop_status cvp_conv_plan_run(const struct conv_plan *plan, const struct conv_operands *t,
                                const convop_context *context, void *workspace)
{
    const struct conv_problem *p = &plan->problem;
    struct run run = {.plan = plan, .context = context, .next = workspace};
    struct conv_operands o = *t;
    if (plan->copy_src && p->dir != CONVOP_BWD_D)
        o.src = gather(&run, src_extents(p), t->src, plan->src, p->src);
    if (plan->copy_weights && p->dir != CONVOP_BWD_W)
        o.weights = gather(&run, weights_extents(p), t->weights, plan->weights, p->weights);
    if (plan->copy_dst && p->dir != CONVOP_FWD)
        o.dst = gather(&run, dst_extents(p), t->dst, plan->dst, p->dst);

    int copy_out = 0;
    struct extents e = {{0}};
    struct conv_strides out = p->dst, dense = p->dst;
    switch (p->dir) {
    case CONVOP_FWD: copy_out = plan->copy_dst, e = dst_extents(p), out = plan->dst; break;
    case CONVOP_BWD_D:
        copy_out = plan->copy_src, e = src_extents(p), out = plan->src, dense = p->src;
        break;
    case CONVOP_BWD_W:
        copy_out = plan->copy_weights, e = weights_extents(p), out = plan->weights;
        dense = p->weights;
        break;
    case CONVOP_BWD_B: break;
    }
    if (copy_out) {
        o.out = run.next;
        run.next += copy_bytes(p, e);
        if (p->add) copy(&run, e, o.out, dense, t->out, out);
    }
    convop_status status = run_row(plan, &o, context, run.next);
    if (copy_out && status == CONVOP_OK) copy(&run, e, t->out, out, o.out, dense);
    return status;
}
