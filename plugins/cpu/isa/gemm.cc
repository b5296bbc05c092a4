// Matrix products by Eigen, whose namespace carries the name of the instruction set here (see
// CMakeLists.txt).
#include <Eigen/Core>

#include "isa/parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

template <class T>
using Stored = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                          Eigen::Unaligned, Eigen::OuterStride<>>;
template <class T>
using Result = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                          Eigen::OuterStride<>>;

template <class Left, class Right, class Out>
inline void multiply(const Left& left, const Right& right, Out& out, bool accumulate) {
  if (accumulate) {
    out.noalias() += left * right;
  } else {
    out.noalias() = left * right;
  }
}

template <class T>
void gemm(const Gemm<T>& g) {
  if (g.m == 0 || g.n == 0) return;
  const Stored<T> a(g.a, g.a_transposed ? g.k : g.m, g.a_transposed ? g.m : g.k, Eigen::OuterStride<>(g.lda));
  const Stored<T> b(g.b, g.b_transposed ? g.n : g.k, g.b_transposed ? g.k : g.n, Eigen::OuterStride<>(g.ldb));
  Result<T> c(g.c, g.m, g.n, Eigen::OuterStride<>(g.ldc));
  if (g.k == 0) {
    if (!g.accumulate) c.setZero();
  } else if (g.a_transposed && g.b_transposed) {
    multiply(a.transpose(), b.transpose(), c, g.accumulate);
  } else if (g.a_transposed) {
    multiply(a.transpose(), b, c, g.accumulate);
  } else if (g.b_transposed) {
    multiply(a, b.transpose(), c, g.accumulate);
  } else {
    multiply(a, b, c, g.accumulate);
  }
}

}  // namespace

void fill_gemm(Table& t) {
  t.gemm_f32 = gemm<float>;
  t.gemm_f64 = gemm<double>;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
