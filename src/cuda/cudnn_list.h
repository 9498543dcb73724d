/* The functions of cuDNN that convop calls: CVP_CUDNN(member, symbol, result, parameters). They are
 * those of the backend graph API, which takes and gives everything as attributes of descriptors.
 * Included wherever the list is expanded. */
CVP_CUDNN(version, cudnnGetVersion, size_t, (void))
CVP_CUDNN(cudart_version, cudnnGetCudartVersion, size_t, (void))
CVP_CUDNN(error_string, cudnnGetErrorString, const char *, (unsigned status))
CVP_CUDNN(last_error, cudnnGetLastErrorString, void, (char *text, size_t size))
CVP_CUDNN(create, cudnnCreate, unsigned, (struct cudnnContext * *handle))
CVP_CUDNN(destroy, cudnnDestroy, unsigned, (struct cudnnContext * handle))
CVP_CUDNN(set_stream, cudnnSetStream, unsigned,
          (struct cudnnContext * handle, struct CUstream_st *stream))
CVP_CUDNN(descriptor_create, cudnnBackendCreateDescriptor, unsigned,
          (unsigned type, void **descriptor))
CVP_CUDNN(descriptor_destroy, cudnnBackendDestroyDescriptor, unsigned, (void *descriptor))
CVP_CUDNN(descriptor_finalize, cudnnBackendFinalize, unsigned, (void *descriptor))
CVP_CUDNN(attribute_set, cudnnBackendSetAttribute, unsigned,
          (void *descriptor, unsigned name, unsigned type, int64_t count, const void *values))
CVP_CUDNN(attribute_get, cudnnBackendGetAttribute, unsigned,
          (void *descriptor, unsigned name, unsigned type, int64_t wanted, int64_t *count,
           void *values))
CVP_CUDNN(execute, cudnnBackendExecute, unsigned,
          (struct cudnnContext * handle, void *plan, void *pack))
