#include "product.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace fake_cuda {
namespace {

constexpr int64_t kRows = 4, kColumns = kMostColumns;  // of a block in registers
constexpr int64_t kDepth = 256, kPanelColumns = 256;   // of what lies in the cache
constexpr int64_t kWorthThread = int64_t{1} << 21;     // multiplications

constexpr int64_t up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Rows of a, packed by depth, times columns of b, packed by depth.
inline __attribute__((always_inline)) void add_block(const double* a, const double* b, int64_t depth,
                                                     double* sums, int64_t stride) {
  double sum[kRows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) sum[i][j] += a[k * kRows + i] * b[k * kColumns + j];
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) sums[i * stride + j] += sum[i][j];
  }
}

using Block = void (*)(const double* a, const double* b, int64_t depth, double* sums, int64_t stride);

void block_generic(const double* a, const double* b, int64_t depth, double* sums, int64_t stride) {
  add_block(a, b, depth, sums, stride);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void block_avx2(const double* a, const double* b, int64_t depth,
                                                    double* sums, int64_t stride) {
  add_block(a, b, depth, sums, stride);
}
Block fastest_block() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? block_avx2 : block_generic;
}
#else
Block fastest_block() { return block_generic; }
#endif

/// The columns j0 to j0 + columns, all rows.
class Panel {
 public:
  explicit Panel(const Product& product)
      : p_(product),
        a_(static_cast<size_t>(kRows * kDepth)),
        b_(static_cast<size_t>(kPanelColumns * kDepth)),
        sums_(static_cast<size_t>(up(product.rows, kRows) * kPanelColumns)) {}

  void run(int64_t j0) {
    const int64_t columns = std::min(kPanelColumns, p_.columns - j0);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (int64_t k0 = 0; k0 < p_.depth; k0 += kDepth) {
      const int64_t depth = std::min(kDepth, p_.depth - k0);
      std::fill(b_.begin(), b_.end(), 0.0);
      for (int64_t j = 0; j < columns; j += kColumns)
        p_.load_b(&b_[static_cast<size_t>(j * kDepth)], kColumns, j0 + j, std::min(kColumns, columns - j), k0,
                  depth);
      for (int64_t i = 0; i < p_.rows; i += kRows) {
        const int64_t rows = std::min(kRows, p_.rows - i);
        if (rows < kRows) std::fill(a_.begin(), a_.end(), 0.0);
        p_.load_a(a_.data(), kRows, i, rows, k0, depth);
        for (int64_t j = 0; j < columns; j += kColumns)
          block_(a_.data(), &b_[static_cast<size_t>(j * kDepth)], depth,
                 &sums_[static_cast<size_t>(i * kPanelColumns + j)], kPanelColumns);
      }
    }
    p_.store(sums_.data(), kPanelColumns, 0, p_.rows, j0, columns);
  }

 private:
  const Product& p_;
  const Block block_ = fastest_block();
  std::vector<double> a_, b_, sums_;
};

}  // namespace

void multiply(const Product& product) {
  const int64_t panels = (product.columns + kPanelColumns - 1) / kPanelColumns;
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    Panel panel(product);
    for (int64_t at = next++; at < panels; at = next++) panel.run(at * kPanelColumns);
  };
  if (panels < 2 || product.rows * product.columns * std::max<int64_t>(product.depth, 1) < kWorthThread)
    return work();
  std::thread second(work);
  work();
  second.join();
}

}  // namespace fake_cuda
