// Matrix products by Eigen. Its namespace is renamed for each instruction set (see CMakeLists.txt).
#include <Eigen/Core>

#include "isa/packing.h"
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

template <class T>
Blocks blocks(int64_t m, int64_t n, int64_t k) {
  // Eigen computes row-major results transposed, so it swaps m and n.
  const Eigen::internal::gemm_blocking_space<Eigen::RowMajor, T, T, Eigen::Dynamic, Eigen::Dynamic,
                                             Eigen::Dynamic>
      space(m, n, k, 1, true);
  Blocks out{space.mc(), space.nc(), space.kc(), 0};
  const int64_t left = out.m * out.k * static_cast<int64_t>(sizeof(T)),
                right = out.n * out.k * static_cast<int64_t>(sizeof(T));
  if (left > EIGEN_STACK_ALLOCATION_LIMIT || right > EIGEN_STACK_ALLOCATION_LIMIT)
    out.bytes = (left + 63) / 64 * 64 + right;
  return out;
}

/// Places Eigen's blocks in the caller's memory.
template <class T>
struct Room : Eigen::internal::level3_blocking<T, T> {
  Room(const Blocks& blocks, void* memory) {
    this->m_mc = blocks.m, this->m_nc = blocks.n, this->m_kc = blocks.k;
    const int64_t left = (blocks.m * blocks.k * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    this->m_blockA = static_cast<T*>(memory);
    this->m_blockB = reinterpret_cast<T*>(static_cast<char*>(memory) + left);
  }
};

template <class T, int kLeftOrder, int kRightOrder>
void add_product(const Gemm<T>& g, Room<T>& room) {
  Eigen::internal::general_matrix_matrix_product<Eigen::Index, T, kLeftOrder, false, T, kRightOrder, false,
                                                 Eigen::RowMajor, 1>::run(g.m, g.n, g.k, g.a, g.lda, g.b,
                                                                          g.ldb, g.c, 1, g.ldc, T(1), room);
}

template <class T>
void packed_gemm(const Gemm<T>& g, const Blocks& blocks, void* memory) {
  if (!g.accumulate) Result<T>(g.c, g.m, g.n, Eigen::OuterStride<>(g.ldc)).setZero();
  constexpr int kRows = Eigen::RowMajor, kColumns = Eigen::ColMajor;
  Room<T> room(blocks, memory);
  if (g.a_transposed && g.b_transposed) {
    add_product<T, kColumns, kColumns>(g, room);
  } else if (g.a_transposed) {
    add_product<T, kColumns, kRows>(g, room);
  } else if (g.b_transposed) {
    add_product<T, kRows, kColumns>(g, room);
  } else {
    add_product<T, kRows, kRows>(g, room);
  }
}

constexpr Packing kPacking = {&blocks<float>, &blocks<double>, &packed_gemm<float>, &packed_gemm<double>};

}  // namespace

void fill_gemm(Table& t) {
  t.gemm_f32 = gemm<float>;
  t.gemm_f64 = gemm<double>;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE

namespace tenon::cpu::isa {

const Packing& TENON_ISA_JOIN_(packing_, TENON_ISA)() { return TENON_ISA_NAMESPACE::kPacking; }

}  // namespace tenon::cpu::isa
