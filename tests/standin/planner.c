/* A planner for machines without cuDNN: it takes every graph that can be executed here, and has
 * four engines, so that each rule of a choice among engines has something to decide. */
#include <inttypes.h>
#include <string.h>

#include "tests/standin/cudnn.h"

static const struct engine {
    int64_t workspace;
    int notes[2]; /* numerical; -1: none */
} engines[] = {
    {0, {-1, -1}},
    {1 << 16, {-1, -1}},
    {0, {CVP_CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, -1}},
    {4096, {CVP_CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CVP_CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}},
};
#define ENGINES (int)(sizeof engines / sizeof engines[0])

/* What the heuristics answer, the best first. */
static const struct {
    unsigned mode;
    int count, engines[ENGINES];
} heuristics[] = {
    {CVP_CUDNN_HEUR_MODE_A, 4, {2, 3, 1, 0}},
    {CVP_CUDNN_HEUR_MODE_B, 2, {1, 0}},
    {CVP_CUDNN_HEUR_MODE_FALLBACK, 1, {0}},
};

static int64_t more_workspace;

void standin_engines_need(size_t bytes)
{
    more_workspace = (int64_t)bytes;
}

static _Thread_local const char *said = "";

static unsigned refuse(unsigned status, const char *why)
{
    said = why;
    return status;
}

static size_t version(void)
{
    return 91900;
}

static unsigned create(struct descriptor *d)
{
    (void)d;
    return CVP_CUDNN_STATUS_SUCCESS;
}

static void destroy(struct descriptor *d)
{
    (void)d;
}

static unsigned set(struct descriptor *d, unsigned name, unsigned type, int64_t count,
                    const void *values)
{
    (void)name, (void)type, (void)values;
    if (count < 0) return refuse(CVP_CUDNN_STATUS_BAD_PARAM, "a negative count");
    if (name == CVP_CUDNN_ATTR_ENGINE_GLOBAL_INDEX) d->engine = (int)*(const int64_t *)values;
    return CVP_CUDNN_STATUS_SUCCESS;
}

static unsigned finalize_plan(struct descriptor *d)
{
    const struct attribute *json =
        standin_attribute(d, CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    const struct descriptor *config =
        standin_child(d, CVP_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    if (json) {
        const char *engine = strstr(json->values, "\"engineId\":");
        d->engine = engine ? atoi(strchr(engine, ':') + 1) : -1;
    } else if (config) {
        d->engine = config->engine;
    } else {
        return refuse(CVP_CUDNN_STATUS_BAD_PARAM, "a plan needs a configuration or its JSON");
    }
    if (d->engine < 0 || d->engine >= ENGINES)
        return refuse(CVP_CUDNN_STATUS_NOT_SUPPORTED, "there is no such engine");
    d->workspace = engines[d->engine].workspace + more_workspace;
    char text[100];
    snprintf(text, sizeof text, "{\"engineId\":%d,\"workspace\":%" PRId64 "}", d->engine,
             d->workspace);
    d->json = strdup(text);
    return CVP_CUDNN_STATUS_SUCCESS;
}

static unsigned finalize(struct descriptor *d)
{
    struct graph graph;
    switch (d->type) {
    case CVP_CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        if (!standin_attribute(d, CVP_CUDNN_ATTR_TENSOR_DIMENSIONS) ||
            !standin_attribute(d, CVP_CUDNN_ATTR_TENSOR_STRIDES))
            return refuse(CVP_CUDNN_STATUS_BAD_PARAM, "a tensor needs dimensions and strides");
        break;
    case CVP_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        if (!standin_graph_read(&graph, d))
            return refuse(CVP_CUDNN_STATUS_NOT_SUPPORTED, "a graph of other operations");
        break;
    case CVP_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        if (!standin_operations(d) || !standin_child(d, CVP_CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, 0))
            return refuse(CVP_CUDNN_STATUS_BAD_PARAM, "heuristics need a graph and a device");
        break;
    case CVP_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: {
        const struct descriptor *e = standin_child(d, CVP_CUDNN_ATTR_ENGINECFG_ENGINE, 0);
        if (!e) return refuse(CVP_CUDNN_STATUS_BAD_PARAM, "a configuration needs an engine");
        d->engine = e->engine;
        break;
    }
    case CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return finalize_plan(d);
    }
    return CVP_CUDNN_STATUS_SUCCESS;
}

/* ---- what can be read ------------------------------------------------------------------------ */

static unsigned give(const void *from, size_t size, int64_t has, int64_t wanted, int64_t *count,
                     void *values)
{
    const int64_t n = wanted < has ? wanted : has;
    if (count) *count = has;
    if (values && from && n > 0) memcpy(values, from, (size_t)n * size);
    return CVP_CUDNN_STATUS_SUCCESS;
}

static unsigned give_results(struct descriptor *d, int64_t wanted, int64_t *count, void **values)
{
    const unsigned mode =
        (unsigned)standin_int(d, CVP_CUDNN_ATTR_ENGINEHEUR_MODE, CVP_CUDNN_HEUR_MODE_A);
    for (size_t i = 0; i < sizeof heuristics / sizeof heuristics[0]; i++) {
        if (heuristics[i].mode != mode) continue;
        if (count) *count = heuristics[i].count;
        for (int k = 0; values && k < heuristics[i].count && k < wanted; k++) {
            struct descriptor *config = values[k];
            config->engine = heuristics[i].engines[k];
            config->is_final = 1;
            standin_set_origin(config, d);
        }
        return CVP_CUDNN_STATUS_SUCCESS;
    }
    return refuse(CVP_CUDNN_STATUS_NOT_SUPPORTED, "no such mode of heuristics");
}

/* Of a plan its configuration, of that its engine or its one knob, in a descriptor that the caller
 * made. */
static unsigned give_part(struct descriptor *d, int64_t wanted, int64_t *count, void **values)
{
    if (count) *count = 1;
    if (!values || wanted < 1) return CVP_CUDNN_STATUS_SUCCESS;
    struct descriptor *part = values[0];
    part->engine = d->engine;
    part->is_final = 1;
    standin_set_origin(part, d);
    return CVP_CUDNN_STATUS_SUCCESS;
}

static unsigned give_notes(const struct engine *e, int64_t wanted, int64_t *count, void *values)
{
    int64_t n = 0;
    while (n < 2 && e->notes[n] >= 0) n++;
    return give(e->notes, sizeof e->notes[0], n, wanted, count, values);
}

static unsigned get(struct descriptor *d, unsigned name, unsigned type, int64_t wanted,
                    int64_t *count, void *values)
{
    const struct attribute *a = standin_attribute(d, name);
    const int64_t engine = d->engine;
    const int32_t knob = 1;
    if (a && a->type == type && type != CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return give(a->values, standin_type_size(type), a->count, wanted, count, values);
    switch (name) {
    case CVP_CUDNN_ATTR_ENGINEHEUR_RESULTS: return give_results(d, wanted, count, values);
    case CVP_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
    case CVP_CUDNN_ATTR_ENGINECFG_ENGINE:
    case CVP_CUDNN_ATTR_ENGINECFG_KNOB_CHOICES: return give_part(d, wanted, count, values);
    case CVP_CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
        return give(&engines[engine].workspace, 8, 1, wanted, count, values);
    case CVP_CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    case CVP_CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
        return give(&engine, sizeof engine, 1, wanted, count, values);
    case CVP_CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
        return give(&knob, sizeof knob, 1, wanted, count, values);
    case CVP_CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        return give_notes(&engines[engine], wanted, count, values);
    case CVP_CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE: return give(NULL, 4, 0, wanted, count, values);
    case CVP_CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION: {
        const char *json = standin_properties(d->device);
        return give(json, 1, (int64_t)strlen(json), wanted, count, values);
    }
    default: return refuse(CVP_CUDNN_STATUS_NOT_SUPPORTED, "no such attribute is known here");
    }
}

static void last_error(char *text, size_t size)
{
    snprintf(text, size, "%s", said);
    said = "";
}

const struct planner standin_planner_here = {version,  create, destroy,   set,
                                             finalize, get,    last_error};
