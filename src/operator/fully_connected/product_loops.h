/* Loops over a product's elements, for one type. No guard: included once for each type T, with NAME
 * to name the instance. */

/* c = (add ? c : 0) + bias for a block of rows; c is compact in columns. */
static void NAME(set_bias)(const struct fc_product *p, const void *bias_, int64_t m, int64_t n,
                           void *c_)
{
    const T *bias = bias_;
    for (int64_t i = 0; i < m; i++) {
        T *c = (T *)c_ + i * p->c.row;
        if (p->add)
            for (int64_t j = 0; j < n; j++) c[j] += bias[j * p->bias_stride];
        else
            for (int64_t j = 0; j < n; j++) c[j] = bias[j * p->bias_stride];
    }
}

/* Elements [begin, end) of c, counted row by row, each by itself. */
static void NAME(plain)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const struct fc_product *p = job->product;
    const struct fc_matrix *a = &p->a.at, *b = &p->b.at, *c = &p->c.at;
    for (int64_t e = begin; e < end; e++) {
        int64_t i = e / p->n, j = e % p->n;
        const T *a_row = (const T *)(const void *)job->a + cvp_group_at(&a->rows, i);
        const T *b_column = (const T *)(const void *)job->b + cvp_group_at(&b->columns, j);
        T *to = (T *)(void *)job->c + cvp_group_at(&c->rows, i) + cvp_group_at(&c->columns, j);
        double sum =
            p->has_bias ? (double)((const T *)(const void *)job->bias)[j * p->bias_stride] : 0;
        for (int64_t q = 0; q < p->k; q++)
            sum += (double)a_row[cvp_group_at(&a->columns, q)] *
                   (double)b_column[cvp_group_at(&b->rows, q)];
        *to = p->add ? *to + (T)sum : (T)sum;
    }
}
