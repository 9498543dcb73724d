/* Learning rate schedule. */
#include "examples/mobilenet/schedule.h"

#include "examples/mobilenet/log.h"

void schedule_init(struct schedule *s, const struct options *o, int begin_epoch)
{
    int64_t epoch_size = (o->num_examples + o->batch_size - 1) / o->batch_size;
    *s = (struct schedule){.lr = o->lr, .factor = o->lr_factor};
    if (o->lr_factor >= 1) return;
    for (int i = 0; i < o->num_lr_steps; i++) {
        double epoch = o->lr_step_epochs[i];
        if (begin_epoch >= epoch)
            s->lr *= o->lr_factor;
        else
            s->steps[s->num_steps++] = (int64_t)((double)epoch_size * (epoch - begin_epoch));
    }
    if (s->lr != o->lr) log_line("Adjust learning rate to %e for epoch %d", s->lr, begin_epoch);
}

double schedule_rate(struct schedule *s, int64_t update)
{
    while (s->next < s->num_steps && update > s->steps[s->next]) {
        s->lr *= s->factor;
        log_line("Update[%lld]: Change learning rate to %0.5e", (long long)s->steps[s->next] + 1,
                 s->lr);
        s->next++;
    }
    return s->lr;
}
