// What kernels of devices say in the same words for every device: the arguments of a launch, and how a kernel is built.
//
// The operators in tenon/ep/device/ops/ are templates over a backend B. What B must have:
//   typename B::Recorder                      the provider's class, derived from Context
//   typename B::Kernel                        a kernel, built
//   B::load(node, name, settings)             builds the kernel `name` of the source that B stands for; throws
//   launch(recorder, kernel, items, args...)  in the namespace of the Recorder: lists one launch over `items` work-items.
//                                             Arguments: in(), out(), the structs below, numbers (int32_t, float) and structs of
//                                             them. Nothing is launched if one of the items is 0.
#ifndef TENON_EP_DEVICE_LAUNCH_HPP_
#define TENON_EP_DEVICE_LAUNCH_HPP_

#include <array>
#include <vector>

#include "tenon/ep/device/walk.hpp"
#include "tenon/ep/kernel.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// Work-items or work-groups along three axes.
using Size3 = std::array<size_t, 3>;

/// A tensor that a kernel reads or writes. A missing tensor is a null pointer. `first`: the first element of the tensor
/// that the kernel sees.
struct TensorArg {
  const tenon_tensor* tensor;
  int64_t first = 0;
  bool reads = true, writes = false;
};
inline TensorArg in(TensorView tensor, int64_t first = 0) { return {tensor.raw(), first, true, false}; }
inline TensorArg out(OutputTensor tensor, int64_t first = 0) {
  return {TensorView(tensor).raw(), first, false, true};
}

/// A part of the workspace that `prepare` asked for, at `byte_offset`.
struct WorkspaceArg {
  uint64_t byte_offset = 0;
  uint32_t element_bytes = 4;
};

/// The flag to which a kernel reports an index out of range.
struct FlagArg {};

/// By what a kernel is built. In the order in which its source declares them.
struct Setting {
  enum class Kind { kCompute, kMove, kNumber } kind;
  std::string_view name;
  int64_t value;
};
/// The element type of a tensor with which the kernel computes.
inline Setting computes_in(uint32_t dtype, std::string_view name = "T") {
  return {Setting::Kind::kCompute, name, dtype};
}
/// The element type of tensors whose elements are only moved.
inline Setting moves(uint32_t dtype) { return {Setting::Kind::kMove, "M", dtype}; }
inline Setting number(std::string_view name, int64_t value) { return {Setting::Kind::kNumber, name, value}; }

using Settings = std::vector<Setting>;

/// Types for arithmetic, and types of elements that can be moved. A provider accepts those of them that its device stores.
inline constexpr TypeList<float, double, Float16, BFloat16> kDeviceRealTypes;
inline constexpr auto kDeviceTypes = kDeviceRealTypes + kIntTypes + kBoolType;

/// A launch with one work-item per element of a walk.
template <int kOperands>
Size3 items_of(const WalkOf<kOperands>& walk) {
  return {static_cast<size_t>(walk.inner), static_cast<size_t>(walk.outer), 1};
}
inline Size3 items_of(int64_t count) { return {static_cast<size_t>(count), 1, 1}; }

/// The shape of output `i` from the host's inference. Throws if it is not known.
inline DimsView output_dims(const PrepareContext& p, int i) {
  require(p.knows_output(i), TENON_INVALID_ARGUMENT, "the shape of output ", i,
          " does not follow from the inputs");
  return p.output(i);
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif  // TENON_EP_DEVICE_LAUNCH_HPP_
