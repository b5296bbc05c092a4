// Operators that make a tensor from a few numbers: ConstantOfShape, EyeLike and OneHot; and Trilu, which keeps a part of its
// input.
#include "tenon/ep/device/ops/generate.hpp"

#include "kernels/common/copy.h"
#include "shaders/generate.Eye.h"
#include "shaders/generate.Fill.h"
#include "shaders/generate.OneHot.h"
#include "shaders/generate.Trilu.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Fill", &shaders::generate_Fill},
    {"Eye", &shaders::generate_Eye},
    {"Trilu", &shaders::generate_Trilu},
    {"OneHot", &shaders::generate_OneHot},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::ConstantOfShape<Kernels>, .op_type = "ConstantOfShape", .since = 9,
             .contract = "input: [?] @size")
TENON_KERNEL(ops::EyeLike<Kernels>, .op_type = "EyeLike", .since = 9, .contract = "input: rank 2")
TENON_KERNEL(ops::Trilu<Kernels>, .op_type = "Trilu", .since = 14, .contract = "input: rank 2..; k?: one")
TENON_KERNEL(ops::OneHot<Kernels>, .op_type = "OneHot", .since = 9,
             .contract = "indices: any; depth: one @size; values: [2]")

}  // namespace
}  // namespace tenon::vulkan
