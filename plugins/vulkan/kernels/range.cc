// Range.
#include "tenon/ep/device/ops/range.hpp"

#include "kernels/common/kernel.h"
#include "shaders/range.Range.h"
#include "shaders/range.RangeOfInts.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {{"Range", &shaders::range_Range},
                                     {"RangeOfInts", &shaders::range_RangeOfInts}};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::Range<Kernels>, .op_type = "Range", .since = 11,
             .contract = "start: one @size; limit: one @size; delta: one @size")

}  // namespace
}  // namespace tenon::vulkan
