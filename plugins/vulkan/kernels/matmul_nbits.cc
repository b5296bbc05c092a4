// MatMulNBits: products with weights of 2, 4 or 8 bits.
#include "tenon/ep/device/ops/matmul_nbits.hpp"

#include "kernels/common/copy.h"
#include "shaders/matmul_nbits.row.h"
#include "shaders/matmul_nbits.tile.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"MatMulNBitsRow", &shaders::matmul_nbits_row},
    {"MatMulNBitsTile", &shaders::matmul_nbits_tile},
};
struct Kernels : Backend<kSources> {
  using Copies = CopyKernels;
  /// llvmpipe is slow to read, so its work-items use what they read of A for many columns. GPUs need many work-items.
  static int32_t nbits_width(const NodeView& n, bool is_tile) {
    const int32_t width = instance_of(n).device.limits().is_software ? 8 : is_tile ? 4 : 1;
    return n.attr_i("N") >= width ? width : 1;
  }
};

TENON_KERNEL(ops::MatMulNBits<Kernels>, .domain = "com.microsoft", .op_type = "MatMulNBits",
             .contract = "A: [D..., $K]; B: any; scales: any; zero_points?: any; g_idx?: any; bias?: [$N]")

}  // namespace
}  // namespace tenon::vulkan
