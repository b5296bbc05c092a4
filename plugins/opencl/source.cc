#include "source.h"

#include "binary.h"
#include "device.h"
#include "tenon/ep/device/walk.hpp"
#include "tenon/ep/device/window.hpp"

namespace tenon::opencl {
namespace {

// A tensor argument `x` is a buffer and the tensor's offset in it, in elements. Buffers are sub-allocated,
// and the OpenCL 1.2 host API has no pointers into buffers.
constexpr std::string_view kPrelude = R"CL(
#if USE_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT ON
#define IN(type, x) __global const type* x##_base, ulong x##_at
#define OUT(type, x) __global type* x##_base, ulong x##_at
#define PTR(x) (x##_base + x##_at)
// Keeps the first index out of range. The host checks for it after it has waited.
inline void flag_index(__global int* flag, long index, int size) {
  if (atomic_cmpxchg(flag, 0, 1) != 0) return;
  flag[1] = size;
  flag[2] = (int)index;
  flag[3] = (int)(index >> 32);
}
// The place of an index; negative ones count from the end. Out of range: returns 0 and sets the flag.
inline int place_of(long index, int size, __global int* flag) {
  const long at = index < 0 ? index + size : index;
  if (at >= 0 && at < size) return (int)at;
  flag_index(flag, index, size);
  return 0;
}
#define MAX_RANK 8
typedef struct {
  int rank;
  int inner;
  int outer;
  int zero;
  int size[MAX_RANK];
  int stride[4][MAX_RANK];
  int step[4];
} Walk;
typedef struct {
  int in[3];
  int out[3];
  int size[3];
  int stride[3];
  int dilation[3];
  int pad[3];
} Window;
#define WALK1(w, row, a) \
  int a = 0; \
  for (int d_ = w.rank - 1, r_ = row; d_ >= 0; --d_) { \
    const int q_ = r_ / w.size[d_], at_ = r_ - q_ * w.size[d_]; \
    a += at_ * w.stride[0][d_]; \
    r_ = q_; \
  }
#define WALK2(w, row, a, b) \
  int a = 0, b = 0; \
  for (int d_ = w.rank - 1, r_ = row; d_ >= 0; --d_) { \
    const int q_ = r_ / w.size[d_], at_ = r_ - q_ * w.size[d_]; \
    a += at_ * w.stride[0][d_]; \
    b += at_ * w.stride[1][d_]; \
    r_ = q_; \
  }
#define WALK3(w, row, a, b, c) \
  int a = 0, b = 0, c = 0; \
  for (int d_ = w.rank - 1, r_ = row; d_ >= 0; --d_) { \
    const int q_ = r_ / w.size[d_], at_ = r_ - q_ * w.size[d_]; \
    a += at_ * w.stride[0][d_]; \
    b += at_ * w.stride[1][d_]; \
    c += at_ * w.stride[2][d_]; \
    r_ = q_; \
  }
)CL";

std::string build_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  return log.substr(0, 700);
}

std::string options_of(const Instance& instance, const std::string& defines) {
  return ep::cat("-cl-kernel-arg-info -DUSE_DOUBLE=", instance.device.limits().float64 ? 1 : 0, " ", defines);
}

/// Returns 0 for an unknown type.
size_t size_of(std::string_view type) {
  if (type == "int" || type == "uint" || type == "float") return 4;
  if (type == "long" || type == "ulong" || type == "double") return 8;
  if (type == "Window") return sizeof(ep::Window);
  return type == "Walk" ? sizeof(ep::Walk) : 0;
}

}  // namespace

std::string_view prelude() { return kPrelude; }

ClProgram::ClProgram(const Instance& instance, const Source& source, const std::string& defines)
    : key_(ep::cat("program/", instance.device.build_key(), "/", source.name, "/", defines)),
      source_(source) {
  with_deep_stack([&] {
    if (load(instance)) return;
    build(instance, source, defines);
    unsaved_ = true;
  });
}

bool ClProgram::load(const Instance& instance) {
  if (ep::host().cache_get == nullptr || instance.host == nullptr) return false;
  tenon_str blob{};
  if (ep::host().cache_get(instance.host, ep::to_str(key_), &blob, nullptr) != TENON_OK) return false;
  CachedBinary content;
  const bool whole = unpack_binary(ep::view(blob), &content);
  ep::host().cache_done(instance.host, blob);
  if (!whole) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(content.binary.data());
  const size_t size = content.binary.size();
  cl_device_id device = instance.device.id();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  ClProgramHandle program(
      clCreateProgramWithBinary(instance.device.context(), 1, &device, &size, &bytes, &status, &code));
  if (code != CL_SUCCESS || status != CL_SUCCESS) return false;
  if (clBuildProgram(program.get(), 1, &device, "-cl-kernel-arg-info", nullptr, nullptr) != CL_SUCCESS)
    return false;
  program_ = std::move(program);
  warmed_.insert(content.warmed.begin(), content.warmed.end());
  return true;
}

void ClProgram::build(const Instance& instance, const Source& source, const std::string& defines) {
  const char* texts[] = {kPrelude.data(), source.text.data()};
  const size_t sizes[] = {kPrelude.size(), source.text.size()};
  cl_int code = CL_SUCCESS;
  program_ = ClProgramHandle(clCreateProgramWithSource(instance.device.context(), 2, texts, sizes, &code));
  check(code, "clCreateProgramWithSource");
  cl_device_id device = instance.device.id();
  const std::string options = options_of(instance, defines);
  if (clBuildProgram(program_.get(), 1, &device, options.c_str(), nullptr, nullptr) == CL_SUCCESS) return;
  ep::fail(TENON_INTERNAL, "the OpenCL compiler failed to build '", source.name, "' with ", defines, ": ",
           build_log(program_.get(), device));
}

bool ClProgram::set_zero(cl_kernel kernel, cl_uint index) const {
  cl_kernel_arg_address_qualifier qualifier = 0;
  if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifier), &qualifier,
                         nullptr) != CL_SUCCESS)
    return false;
  if (qualifier != CL_KERNEL_ARG_ADDRESS_PRIVATE)
    return clSetKernelArg(kernel, index, sizeof(cl_mem), nullptr) == CL_SUCCESS;
  char type[64] = {};
  if (clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof(type), type, nullptr) != CL_SUCCESS)
    return false;
  const char zeroes[1024] = {};
  const size_t size = type == source_.struct_name ? source_.struct_size : size_of(type);
  return size != 0 && size <= sizeof(zeroes) && clSetKernelArg(kernel, index, size, zeroes) == CL_SUCCESS;
}

void ClProgram::warm(const Instance& instance, const std::string& kernel, const Size3& local) {
  if (!instance.warm) return;
  const std::lock_guard lock(mutex_);
  const std::string launch = ep::cat(kernel, " ", local[0], "x", local[1], "x", local[2]);
  if (!warmed_.insert(launch).second) return;
  unsaved_ = true;
  cl_int code = CL_SUCCESS;
  const KernelHandle handle(clCreateKernel(program_.get(), kernel.c_str(), &code));
  check(code, ("clCreateKernel " + kernel).c_str());
  cl_uint count = 0;
  check(clGetKernelInfo(handle.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr), "clGetKernelInfo");
  for (cl_uint i = 0; i < count; ++i) {
    if (!set_zero(handle.get(), i)) return;  // then the first Run compiles it
  }
  with_deep_stack([&] {
    check(clEnqueueNDRangeKernel(instance.queue.get(), handle.get(), 3, nullptr, local.data(), local.data(),
                                 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    check(clFinish(instance.queue.get()), "clFinish");
  });
}

void ClProgram::save(const Instance& instance) {
  if (ep::host().cache_put == nullptr || instance.host == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (!unsaved_) return;
  size_t size = 0;
  check(clGetProgramInfo(program_.get(), CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr),
        "clGetProgramInfo");
  if (size == 0) return;
  CachedBinary content;
  content.warmed.assign(warmed_.begin(), warmed_.end());
  content.binary.resize(size);
  auto* bytes = reinterpret_cast<unsigned char*>(content.binary.data());
  check(clGetProgramInfo(program_.get(), CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, nullptr),
        "clGetProgramInfo");
  const std::string blob = pack_binary(content);
  // Best effort: if the cache is full or read-only, only the next start is slower.
  if (ep::host().cache_put(instance.host, ep::to_str(key_), ep::to_str(blob), nullptr) == TENON_OK)
    unsaved_ = false;
}

std::shared_ptr<ClProgram> ClPrograms::get(const Instance& instance, const Source& source,
                                           const std::string& defines) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ClProgram>& known = built_[ep::cat(source.name, "/", defines)];
  if (known == nullptr) known = std::make_shared<ClProgram>(instance, source, defines);
  return known;
}

void ClPrograms::save_all(const Instance& instance) {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : built_) {
    if (entry.second != nullptr) entry.second->save(instance);
  }
}

KernelRef find_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      std::string name, Size3 local) {
  const Instance& instance = instance_of(node);
  return {instance.device.cl_programs().get(instance, source, defines), std::move(name), local};
}

void warm(const ep::NodeView& node, const KernelRef& kernel) {
  kernel.built->warm(instance_of(node), kernel.name, kernel.local);
}

KernelRef load_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      std::string name, Size3 local) {
  KernelRef out = find_kernel(node, source, defines, std::move(name), local);
  warm(node, out);
  return out;
}

}  // namespace tenon::opencl
