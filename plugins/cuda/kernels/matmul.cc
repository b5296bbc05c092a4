// Matrix products.
#include "kernels/common/copy.h"
#include "kernels/common/gemm.h"

namespace tenon::cuda {
namespace {

struct Products : Backend<kCopySource> {
  using Gemm = GemmKernels;
  using Copies = CopyKernels;
};

TENON_KERNEL(ops::MatMul<Products>, .op_type = "MatMul", .since = 1, .contract = "A: rank 1..; B: rank 1..")
TENON_KERNEL(ops::Gemm<Products>, .op_type = "Gemm", .since = 7,
             .contract = "A: rank 2; B: rank 2; C?: rank 0..2")

}  // namespace
}  // namespace tenon::cuda
