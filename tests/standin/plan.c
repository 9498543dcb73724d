/* What a plan is beside what its planner makes of it: a device, and the graph, which its JSON takes
 * along as a first member, so that a plan that is restored from that alone can be executed. */
#include <string.h>

#include "tests/standin/cudnn.h"

#define MEMBER "{\"standin\":\""

/* As the probes of the planning tests have them: the figures that the vendor publishes. */
const char *standin_properties(int device)
{
    static const char *const properties[STANDIN_DEVICES] = {
        "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
        "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"warpSize\":32,"
        "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
        "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
        "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,"
        "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":150000000000,"
        "\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,"
        "\"cudaDeviceId\":0,\"deviceVer\":900,\"driverVer\":13000,"
        "\"deviceName\":\"NVIDIA H200\"}",
        "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
        "\"regsPerBlock\":65536,\"multiProcessorCount\":108,\"warpSize\":32,"
        "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":166912,"
        "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
        "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,"
        "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":85000000000,"
        "\"smClockRateKHz\":1410000,\"memClockRateKHz\":1593000,\"l2CacheSize\":41943040,"
        "\"cudaDeviceId\":1,\"deviceVer\":800,\"driverVer\":13000,"
        "\"deviceName\":\"NVIDIA A100-SXM4-80GB\"}"};
    return device >= 0 && device < STANDIN_DEVICES ? properties[device] : "";
}

/* What executing a plan of an engine takes, in ms; 0: 1. */
#define MOST_ENGINES 128
static double takes[MOST_ENGINES];

void standin_engine_takes(int engine, double ms)
{
    takes[engine] = ms;
}

double standin_time(int engine)
{
    return engine >= 0 && engine < MOST_ENGINES && takes[engine] > 0 ? takes[engine] : 1;
}

int standin_device_of(unsigned name, unsigned type, const void *values)
{
    if (type == CVP_CUDNN_TYPE_HANDLE) {
        const struct cudnnContext *handle = *(struct cudnnContext *const *)values;
        pthread_mutex_lock(&standin_lock);
        standin_expect(STANDIN_HANDLE, handle);
        pthread_mutex_unlock(&standin_lock);
        return handle->context->device;
    }
    return name == CVP_CUDNN_ATTR_DEVICEPROP_DEVICE_ID ? *(const int32_t *)values : -1;
}

char *standin_plan_json(const char *with_graph, int64_t count)
{
    const size_t skip = sizeof MEMBER - 1;
    char *rest = strndup(with_graph, (size_t)count);
    const char *end = strncmp(rest, MEMBER, skip) == 0 ? strstr(rest + skip, "\",") : NULL;
    if (!end) {
        free(rest);
        return NULL;
    }
    memmove(rest + 1, end + 2, strlen(end + 2) + 1);
    return rest;
}

static int read_graph(struct descriptor *plan)
{
    const struct descriptor *operations = standin_operations(plan);
    const struct attribute *json =
        standin_attribute(plan, CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    if (json) return standin_graph_parse(&plan->graph, (char *)json->values + sizeof MEMBER - 1);
    return operations && standin_graph_read(&plan->graph, operations);
}

unsigned standin_finalize_plan(struct descriptor *plan)
{
    char text[GRAPH_TEXT];
    const unsigned status = standin_planner()->finalize(plan);
    if (status) return status;
    if (!read_graph(plan)) return CVP_CUDNN_STATUS_NOT_SUPPORTED;
    const struct descriptor *properties =
        standin_child(plan, CVP_CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, 0);
    if (properties) plan->device = properties->device;
    const char *engine = strstr(plan->json, "\"engineId\":");
    plan->engine = engine ? atoi(strchr(engine, ':') + 1) : -1;
    const size_t size = sizeof text + strlen(plan->json) + sizeof MEMBER + 2;
    char *json = malloc(size);
    if (!json) abort();
    standin_graph_write(&plan->graph, text);
    snprintf(json, size, "%s%s\",%s", MEMBER, text, plan->json + 1);
    free(plan->json);
    plan->json = json;
    return status;
}
