/* What windows are divided by. */
#include "src/operator/pooling/lines.h"

static double divisor_of(const struct pool_problem *p, const int64_t o[POOL_MAX_AXES])
{
    double r = 1;
    for (int i = 0; i < POOL_MAX_AXES; i++) {
        int64_t begin, end;
        cvp_pool_window(&p->axis[i], o[i], &begin, &end);
        if (p->type == POOL_MAX)
            r *= end > begin;
        else
            r *= (double)cvp_max_i64(cvp_pool_count(&p->axis[i], o[i], p->count_include_pad), 1);
    }
    return r;
}

void cvp_pool_divisors(const struct pool_problem *p, const struct pool_line *l,
                       double divisor[POOL_LANES])
{
    int64_t o[POOL_MAX_AXES] = {l->o[0], l->o[1], l->o[2]};
    double same = p->type == POOL_SUM ? 1 : divisor_of(p, o);
    int differ = !cvp_pool_by_channels(p) && p->type != POOL_SUM;
    for (int i = 0; i < l->lanes; i++) {
        o[2] = l->o[2] + i;
        divisor[i] = differ ? divisor_of(p, o) : same;
    }
}
