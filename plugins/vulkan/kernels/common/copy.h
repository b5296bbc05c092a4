// Strided copies, for all operators that only move whole elements.
#pragma once

#include "kernels/common/kernel.h"
#include "shaders/copy.h"
#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

namespace tenon::vulkan {

using ops::gather_copy;
using ops::StridedCopy;

inline constexpr KernelSource kCopySource[] = {{"Strided", &shaders::copy}};

using CopyKernels = ops::CopyKernels<Backend<kCopySource>>;

}  // namespace tenon::vulkan
