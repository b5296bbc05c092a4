// Attention.
#include "tenon/ep/device/ops/attention.hpp"

#include "kernels/common/copy.h"
#include "shaders/attention.all.h"
#include "shaders/attention.lengths.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"Attention", &shaders::attention_all},
    {"AttentionOfLengths", &shaders::attention_lengths},
};
struct Kernels : Backend<kSources> {
  using Copies = CopyKernels;
};

TENON_KERNEL(ops::Attention<Kernels>, .op_type = "Attention", .since = 23,
             .contract =
                 "Q: rank 3..4; K: [Q.0, ?, ?] & rank Q | [Q.0, ?, ?, Q.-1] & rank Q; "
                 "V: [Q.0, K.1, ?] & rank Q | [Q.0, K.1, K.2, ?] & rank Q; attn_mask?: rank 1..4; "
                 "past_key?: [Q.0, ?, P, ?]; past_value?: [Q.0, past_key.1, P, ?]; "
                 "nonpad_kv_seqlen?: [Q.0] @index")

}  // namespace
}  // namespace tenon::vulkan
