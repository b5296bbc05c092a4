// How the stand-ins for cuBLASLt and cuDNN run their work in the device's process, in the order of a stream.
#pragma once

#include <cuda.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Device memory that the work reads, or also writes. It has to lie in one allocation.
struct tenon_fake_range {
  CUdeviceptr address;
  size_t bytes;
  int writes;
};

/// Runs in the device's process. memory[i] is range i, arguments a copy of what was enqueued, aligned to 16 bytes.
/// Returns null, or a text of static storage that says what went wrong; the launch has failed then.
typedef const char* (*tenon_fake_work)(void* const* memory, const void* arguments, size_t bytes);

/// Puts work on a stream; in a capture it becomes a node of the graph. `library` is the path of a shared object, `function`
/// the exported name of a tenon_fake_work in it, `label` what logs and counts call it ("cublasLtMatmul"). Texts and arguments
/// are copied. A range outside of every allocation is CUDA_ERROR_INVALID_VALUE; empty ranges are allowed, null too.
CUresult tenon_fake_cuda_enqueue(CUstream stream, const char* library, const char* function,
                                 const char* label, const struct tenon_fake_range* ranges, size_t range_count,
                                 const void* arguments, size_t argument_bytes);

#ifdef __cplusplus
}
#endif
