/* The functions of the CUDA driver that convop calls: CVP_DRIVER(member, symbol, parameters), each
 * of which answers with a CUresult. Symbols are those that the driver exports (cuda.h renames a
 * call to its newest version by a macro). Included wherever the list is expanded. */
CVP_DRIVER(init, cuInit, (unsigned flags))
CVP_DRIVER(driver_version, cuDriverGetVersion, (int *version))
CVP_DRIVER(error_name, cuGetErrorName, (unsigned result, const char **name))
CVP_DRIVER(error_string, cuGetErrorString, (unsigned result, const char **text))

CVP_DRIVER(device_count, cuDeviceGetCount, (int *count))
CVP_DRIVER(device_get, cuDeviceGet, (int *device, int ordinal))
CVP_DRIVER(device_name, cuDeviceGetName, (char *name, int size, int device))
CVP_DRIVER(device_uuid, cuDeviceGetUuid_v2, (struct CUuuid_st * uuid, int device))
CVP_DRIVER(device_pci_bus_id, cuDeviceGetPCIBusId, (char *id, int size, int device))
CVP_DRIVER(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, int device))
CVP_DRIVER(device_attribute, cuDeviceGetAttribute, (int *value, unsigned attribute, int device))

CVP_DRIVER(primary_retain, cuDevicePrimaryCtxRetain, (struct CUctx_st * *context, int device))
CVP_DRIVER(primary_release, cuDevicePrimaryCtxRelease_v2, (int device))
CVP_DRIVER(context_current, cuCtxGetCurrent, (struct CUctx_st * *context))
CVP_DRIVER(context_push, cuCtxPushCurrent_v2, (struct CUctx_st * context))
CVP_DRIVER(context_pop, cuCtxPopCurrent_v2, (struct CUctx_st * *context))
CVP_DRIVER(context_id, cuCtxGetId, (struct CUctx_st * context, unsigned long long *id))
CVP_DRIVER(context_device, cuCtxGetDevice, (int *device))
CVP_DRIVER(context_synchronize, cuCtxSynchronize, (void))

CVP_DRIVER(mem_alloc, cuMemAlloc_v2, (unsigned long long *address, size_t bytes))
CVP_DRIVER(mem_free, cuMemFree_v2, (unsigned long long address))
CVP_DRIVER(mem_alloc_async, cuMemAllocAsync,
           (unsigned long long *address, size_t bytes, struct CUstream_st *stream))
CVP_DRIVER(mem_free_async, cuMemFreeAsync, (unsigned long long address, struct CUstream_st *stream))
CVP_DRIVER(mem_info, cuMemGetInfo_v2, (size_t * available, size_t *total))
CVP_DRIVER(mem_alloc_host, cuMemAllocHost_v2, (void **memory, size_t bytes))
CVP_DRIVER(mem_free_host, cuMemFreeHost, (void *memory))
CVP_DRIVER(pointer_attribute, cuPointerGetAttribute,
           (void *value, unsigned attribute, unsigned long long address))

CVP_DRIVER(copy_to_device, cuMemcpyHtoDAsync_v2,
           (unsigned long long to, const void *from, size_t bytes, struct CUstream_st *stream))
CVP_DRIVER(copy_to_host, cuMemcpyDtoHAsync_v2,
           (void *to, unsigned long long from, size_t bytes, struct CUstream_st *stream))
CVP_DRIVER(copy_on_device, cuMemcpyDtoDAsync_v2,
           (unsigned long long to, unsigned long long from, size_t bytes,
            struct CUstream_st *stream))
CVP_DRIVER(fill_bytes, cuMemsetD8Async,
           (unsigned long long to, unsigned char value, size_t count, struct CUstream_st *stream))
CVP_DRIVER(fill_words, cuMemsetD32Async,
           (unsigned long long to, unsigned value, size_t count, struct CUstream_st *stream))

CVP_DRIVER(stream_create, cuStreamCreate, (struct CUstream_st * *stream, unsigned flags))
CVP_DRIVER(stream_destroy, cuStreamDestroy_v2, (struct CUstream_st * stream))
CVP_DRIVER(stream_synchronize, cuStreamSynchronize, (struct CUstream_st * stream))
CVP_DRIVER(stream_query, cuStreamQuery, (struct CUstream_st * stream))
CVP_DRIVER(stream_wait_event, cuStreamWaitEvent,
           (struct CUstream_st * stream, struct CUevent_st *event, unsigned flags))
CVP_DRIVER(stream_context, cuStreamGetCtx, (struct CUstream_st * stream, struct CUctx_st **context))
CVP_DRIVER(stream_is_capturing, cuStreamIsCapturing,
           (struct CUstream_st * stream, unsigned *status))
CVP_DRIVER(capture_begin, cuStreamBeginCapture_v2, (struct CUstream_st * stream, unsigned mode))
CVP_DRIVER(capture_end, cuStreamEndCapture,
           (struct CUstream_st * stream, struct CUgraph_st **graph))
CVP_DRIVER(capture_mode_exchange, cuThreadExchangeStreamCaptureMode, (unsigned *mode))
CVP_DRIVER(graph_instantiate, cuGraphInstantiateWithFlags,
           (struct CUgraphExec_st * *exec, struct CUgraph_st *graph, unsigned long long flags))
CVP_DRIVER(graph_launch, cuGraphLaunch, (struct CUgraphExec_st * exec, struct CUstream_st *stream))
CVP_DRIVER(graph_exec_destroy, cuGraphExecDestroy, (struct CUgraphExec_st * exec))
CVP_DRIVER(graph_destroy, cuGraphDestroy, (struct CUgraph_st * graph))

CVP_DRIVER(event_create, cuEventCreate, (struct CUevent_st * *event, unsigned flags))
CVP_DRIVER(event_destroy, cuEventDestroy_v2, (struct CUevent_st * event))
CVP_DRIVER(event_record, cuEventRecord, (struct CUevent_st * event, struct CUstream_st *stream))
CVP_DRIVER(event_synchronize, cuEventSynchronize, (struct CUevent_st * event))
CVP_DRIVER(event_query, cuEventQuery, (struct CUevent_st * event))
CVP_DRIVER(event_elapsed, cuEventElapsedTime,
           (float *milliseconds, struct CUevent_st *begin, struct CUevent_st *end))

CVP_DRIVER(module_load, cuModuleLoadData, (struct CUmod_st * *module, const void *image))
CVP_DRIVER(module_unload, cuModuleUnload, (struct CUmod_st * module))
CVP_DRIVER(module_function, cuModuleGetFunction,
           (struct CUfunc_st * *function, struct CUmod_st *module, const char *name))
CVP_DRIVER(function_attribute, cuFuncGetAttribute,
           (int *value, unsigned attribute, struct CUfunc_st *function))
CVP_DRIVER(function_set_attribute, cuFuncSetAttribute,
           (struct CUfunc_st * function, unsigned attribute, int value))
CVP_DRIVER(function_occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,
           (int *blocks, struct CUfunc_st *function, int block_size, size_t dynamic_shared_bytes))
CVP_DRIVER(launch, cuLaunchKernel,
           (struct CUfunc_st * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
            unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes,
            struct CUstream_st *stream, void **parameters, void **extra))
