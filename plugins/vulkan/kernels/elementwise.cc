// Element-wise operators: those of tenon/ep/device/elementwise.hpp.
#include "tenon/ep/device/ops/elementwise.hpp"

#include "kernels/common/expression.h"

namespace tenon::vulkan {
namespace {

const ops::ElementwiseKernels<Elements> kElementwise;

}  // namespace
}  // namespace tenon::vulkan
