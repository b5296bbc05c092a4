#include "tenon/ep/device/ops/reverse_sequence.hpp"

#include "kernels/common/copy.h"
#include "shaders/reverse_sequence.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"ReverseSequence", &shaders::reverse_sequence},
};
using Kernels = Backend<kSources>;

TENON_KERNEL(ops::ReverseSequence<Kernels>, .op_type = "ReverseSequence", .since = 10,
             .contract = "input: rank 2..; sequence_lens: [input.$batch_axis:1] @index")

}  // namespace
}  // namespace tenon::vulkan
