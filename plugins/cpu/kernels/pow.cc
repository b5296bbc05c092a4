#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/common/cast.h"
#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

/// Rounds towards zero. Of what an int32_t does not hold (for uint32_t and types of 64 bits: an int64_t), the lowest one
/// remains, and a smaller type keeps its low bits. ONNX leaves it open; this is what processors do.
template <class T>
T integer_of(double x) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (x >= 0x1p63 && x < 0x1p64) return static_cast<T>(x);
  }
  constexpr bool kIsShort = sizeof(T) < 4 || std::is_same_v<T, int32_t>;
  using Wide = std::conditional_t<kIsShort, int32_t, int64_t>;
  constexpr double kEnd = kIsShort ? 0x1p31 : 0x1p63;
  return static_cast<T>(x >= -kEnd && x < kEnd ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
}

// The result has the type of the base; the exponent may have another. Integer powers wrap around.
struct PowOp {
  static constexpr auto kTypes = kNumericTypes;

  template <class T, class E>
  static T power(T base, E exponent) {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
      return whole(base, exponent);
    } else if constexpr (std::is_integral_v<T>) {
      return integer_of<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    } else {
      if (exponent == E(2)) return base * base;
      return static_cast<T>(std::pow(base, exponent));
    }
  }

  template <class T>
  T operator()(T a, T b) const {
    return power(a, b);
  }

 private:
  template <class T, class E>
  static T whole(T base, E exponent) {
    if (exponent < 0)
      return base == T(1) ? T(1) : base == static_cast<T>(-1) ? (exponent % 2 == 0 ? T(1) : base) : T(0);
    uint64_t result = 1, square = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1, square *= square) {
      if ((rest & 1) != 0) result *= square;
    }
    return static_cast<T>(result);
  }
};

template <class T>
void mixed_loop(const void*, const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* y,
                int64_t n) {
  const T* base = static_cast<const T*>(a);
  const auto* exponent = static_cast<const double*>(b);
  for (int64_t i = 0; i < n; ++i) {
    const double e = exponent[i * b_stride];
    const auto x = static_cast<Compute<T>>(base[i * a_stride]);
    if constexpr (std::is_integral_v<T>) {
      const bool is_whole = e == std::floor(e) && std::fabs(e) < 1e15;
      static_cast<T*>(y)[i] = is_whole ? PowOp::power(x, static_cast<int64_t>(e)) : PowOp::power(x, e);
    } else {
      static_cast<T*>(y)[i] = static_cast<T>(PowOp::power(x, static_cast<Compute<T>>(e)));
    }
  }
}

/// The exponents come as double, and are used in float32 as in mixed_loop().
void mixed_vector_loop(const void*, const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* y,
                       int64_t n) {
  const auto* base = static_cast<const float*>(a);
  const auto* exponent = static_cast<const double*>(b);
  auto* out = static_cast<float*>(y);
  constexpr int64_t kChunk = 256;
  float chunk[kChunk];
  for (int64_t done = 0; done < n; done += kChunk) {
    const int64_t size = std::min(kChunk, n - done), exponents = b_stride == 0 ? 1 : size;
    for (int64_t i = 0; i < exponents; ++i) chunk[i] = static_cast<float>(exponent[done * b_stride + i]);
    isa_table().pow(base + done * a_stride, a_stride, chunk, b_stride, out + done, size);
  }
}

class Pow : public BinaryBase {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, PowOp::kTypes).input(1, PowOp::kTypes);
  }

  explicit Pow(const NodeView& n) : BinaryBase(n), mixed_(n.input(0).dtype() != n.input(1).dtype()) {
    dispatch(PowOp::kTypes, n.input(0).dtype(), [&]<class T>() {
      loop_ = mixed_ ? &mixed_loop<T> : &binary_loop<T, T, PowOp>;
      a_bytes_ = out_bytes_ = sizeof(T);
    });
    if (n.input(0).dtype() == TENON_FLOAT32)
      loop_ = mixed_ ? &mixed_vector_loop : &binary_vector_loop<&isa::Table::pow>;
    b_bytes_ = mixed_ ? static_cast<int64_t>(sizeof(double)) : a_bytes_;
    grain_ = kGrainCostly;
  }

  void run(const Context& ctx, const State& state) const {
    if (!mixed_) return run_loop(ctx, state, &op_);
    const TensorView exponent = ctx.input(1);
    auto* wide = ctx.scratch<double>(exponent.size());
    cast_elements(exponent.dtype(), exponent.bytes(), TENON_FLOAT64, wide, 0, exponent.size(), {});
    run_loop(ctx, state, &op_, ctx.input(0).bytes(), wide);
  }

 private:
  bool mixed_;
  PowOp op_;
};
TENON_KERNEL(Pow, .op_type = "Pow", .until = 6, .contract = "X: any; Y: any")
TENON_KERNEL(Pow, .op_type = "Pow", .since = 7, .contract = "X: ~; Y: ~")

}  // namespace
}  // namespace tenon::cpu
