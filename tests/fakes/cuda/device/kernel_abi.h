// What compiled kernels call in the device's process. The compiler's shim (nvrtc/shim.h) declares the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_cuda {

struct Index3 {
  unsigned x, y, z;
};

inline constexpr size_t kMaxParameters = 128;
inline constexpr size_t kMaxKernelName = 320;

/// One for each kernel, in the section .fake_cuda_kernels of the object. Function fake_cuda_entry_<i> runs kernel i.
struct KernelInfo {
  char name[kMaxKernelName];
  uint32_t max_threads;  // of __launch_bounds__; 0: none
  uint32_t parameter_count;
  struct {
    uint16_t offset, bytes;
    uint16_t align, kind;
  } parameters[kMaxParameters];
};
enum ParameterKind : uint16_t { kValue, kConstPointer, kPointer };

/// Runs kernel after kernel thread, until next_thread says that there is none.
using Entry = void (*)(const unsigned char* arguments);

/// What a lane brings to an operation of its warp, and where it finds the result.
using Resolve = void (*)(void* const* lanes, unsigned present);

enum class BarrierResult : int { kNone, kCount, kAnd, kOr };
enum TouchKind : int { kRead = 1, kWrite = 2, kAtomic = 4 };

}  // namespace fake_cuda

extern "C" {
extern __thread fake_cuda::Index3 fake_cuda_thread_index;
extern __thread fake_cuda::Index3 fake_cuda_block_index;
extern __thread fake_cuda::Index3 fake_cuda_block_size;
extern __thread fake_cuda::Index3 fake_cuda_grid_size;
extern __thread void* fake_cuda_dynamic_shared;

/// The calling thread of the block has returned. Makes another one the current one, or returns 0.
int fake_cuda_next_thread();
/// Waits for all threads of the block.
int fake_cuda_barrier(int predicate, int result);
/// Waits for all lanes of `mask`; the last one runs `resolve`. Lanes that have returned are not waited for.
void fake_cuda_collective(unsigned mask, const void* kind, void* lane, fake_cuda::Resolve resolve);
/// Ends the device's process.
[[noreturn]] void fake_cuda_trap(const char* why);
/// For races: the current kernel has accessed so many bytes there.
void fake_cuda_touch(const void* address, unsigned bytes, int kind);
}
