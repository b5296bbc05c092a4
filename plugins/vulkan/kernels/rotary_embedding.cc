// RotaryEmbedding.
#include "tenon/ep/device/ops/rotary_embedding.hpp"

#include "kernels/common/kernel.h"
#include "shaders/rotary_embedding.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {{"Rotate", &shaders::rotary_embedding}};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::RotaryEmbedding<Kernels>, .op_type = "RotaryEmbedding", .since = 23,
             .contract =
                 "X: [B, T, ?] | [B, ?, T, ?]; cos_cache: [?, ?] | [B, T, ?]; sin_cache: = cos_cache; "
                 "position_ids?: [B, T] @index")

}  // namespace
}  // namespace tenon::vulkan
