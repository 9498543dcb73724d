/* Calls of the stand-in: counted, made to fail, and what happens when they are misused. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tests/standin/state.h"

pthread_mutex_t standin_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t standin_changed = PTHREAD_COND_INITIALIZER;

static _Thread_local const char *in_call = "nothing";

/* By name: a function, or what else is counted. */
#define MOST_NAMES 128
static struct counter {
    const char *name;
    long calls;
} counters[MOST_NAMES];
static long all_calls;

static struct {
    const char *symbol;
    int ms;
} slow;

static struct {
    const char *symbol;
    long n; /* calls left until it fails; 0: it never does */
    unsigned driver_result, cudnn_status;
} failure;

void standin_misuse(const char *what, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "standin: %s: %s\n", what ? what : in_call, text);
    fflush(NULL);
    _exit(STANDIN_MISUSE);
}

static struct counter *find(const char *name)
{
    int i = 0;
    while (i < MOST_NAMES && counters[i].name && strcmp(counters[i].name, name) != 0) i++;
    if (i == MOST_NAMES) standin_misuse(name, "too many names are counted");
    counters[i].name = name;
    return &counters[i];
}

void standin_count(const char *what)
{
    find(what)->calls++;
}

unsigned standin_enter(const char *symbol)
{
    static atomic_int owner;
    int expected = 0;
    in_call = symbol;
    if (!atomic_compare_exchange_strong(&owner, &expected, (int)getpid()) &&
        expected != (int)getpid())
        standin_misuse(symbol, "the process was forked from one that had used the driver");
    pthread_mutex_lock(&standin_lock);
    standin_count(symbol);
    all_calls++;
    unsigned answer = 0;
    if (failure.n > 0 && (!failure.symbol || strcmp(failure.symbol, symbol) == 0) &&
        --failure.n == 0)
        answer = strncmp(symbol, "cudnn", 5) == 0 ? failure.cudnn_status : failure.driver_result;
    const int ms = slow.symbol && strcmp(slow.symbol, symbol) == 0 ? slow.ms : 0;
    pthread_mutex_unlock(&standin_lock);
    if (ms) usleep((useconds_t)ms * 1000);
    return answer;
}

static long calls(const char *symbol)
{
    pthread_mutex_lock(&standin_lock);
    const long n = symbol ? find(symbol)->calls : all_calls;
    pthread_mutex_unlock(&standin_lock);
    return n;
}

static void fail_nth(const char *symbol, long n, unsigned driver_result, unsigned cudnn_status)
{
    pthread_mutex_lock(&standin_lock);
    failure.symbol = symbol;
    failure.n = n;
    failure.driver_result = driver_result;
    failure.cudnn_status = cudnn_status;
    pthread_mutex_unlock(&standin_lock);
}

static void delay(const char *symbol, int ms)
{
    pthread_mutex_lock(&standin_lock);
    slow.symbol = symbol;
    slow.ms = ms;
    pthread_mutex_unlock(&standin_lock);
}

const struct standin standin_control = {
    .calls = calls,
    .fail_nth = fail_nth,
    .delay = delay,
    .live = standin_live,
    .keeps = standin_keeps,
    .limit_memory = standin_limit_memory,
    .context_create = standin_context_create,
    .context_reuse = standin_context_reuse,
    .context_destroy = standin_context_destroy,
    .write = standin_write,
    .read = standin_read,
    .plan_here = standin_plan_here,
    .has_real_cudnn = standin_has_real_cudnn,
    .engine_takes = standin_engine_takes,
    .engines_need = standin_engines_need,
    .launches_take = standin_launches_take,
    .set_kernels = standin_set_kernels,
};
