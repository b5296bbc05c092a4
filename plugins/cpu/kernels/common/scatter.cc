#include "kernels/common/scatter.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/wrapping.h"

namespace tenon::cpu {
namespace {

template <class T>
T combine(T old, T update, Reduction reduction) {
  using C = Compute<T>;
  if constexpr (kIsComplex<T>) {
    require(reduction == Reduction::kAdd || reduction == Reduction::kMul, TENON_UNIMPLEMENTED,
            "complex numbers cannot be reduced with min or max");
    return reduction == Reduction::kAdd ? old + update : old * update;
  } else if constexpr (std::is_same_v<T, bool>) {
    return reduction == Reduction::kAdd || reduction == Reduction::kMax ? old || update : old && update;
  } else {
    const C a = static_cast<C>(old), b = static_cast<C>(update);
    switch (reduction) {
      case Reduction::kAdd:
        return static_cast<T>(wrapping_add(a, b));
      case Reduction::kMul:
        return static_cast<T>(wrapping_mul(a, b));
      // NaN is kept on either side
      case Reduction::kMin:
        return static_cast<T>(b < a || b != b ? b : a);
      case Reduction::kMax:
        return static_cast<T>(b > a || b != b ? b : a);
      case Reduction::kNone:
        break;
    }
    return update;
  }
}

void scatter_strings(const Context& ctx, TensorView data, TensorView updates, DimsView offsets,
                     int64_t block) {
  std::vector<int64_t> source(static_cast<size_t>(data.size()), -1);
  for (size_t i = 0; i < offsets.size(); ++i)
    for (int64_t k = 0; k < block; ++k)
      source[static_cast<size_t>(offsets[i] + k)] = static_cast<int64_t>(i) * block + k;
  StringBuilder strings;
  for (size_t i = 0; i < source.size(); ++i)
    strings.add(source[i] < 0 ? data.string(static_cast<int64_t>(i)) : updates.string(source[i]));
  ctx.set_strings(0, data.dims(), strings);
}

}  // namespace

Reduction reduction_from(const std::string& name) {
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "min") return Reduction::kMin;
  if (name == "max") return Reduction::kMax;
  fail(TENON_INVALID_ARGUMENT, "reduction is '", name, "'; it must be none, add, mul, min or max");
}

void scatter(const Context& ctx, TensorView data, TensorView updates, DimsView offsets, int64_t block,
             Reduction reduction) {
  if (data.dtype() == TENON_STRING) {
    require(reduction == Reduction::kNone, TENON_UNIMPLEMENTED,
            "strings cannot be reduced; reduction must be none");
    return scatter_strings(ctx, data, updates, offsets, block);
  }
  copy_or_view(ctx, 0, 0);
  const OutputTensor out = ctx.output(0);
  if (reduction == Reduction::kNone && dtype_bits(data.dtype()) >= 8) {
    const int64_t size = dtype_bits(data.dtype()) / 8;
    CancelPoint point(ctx);
    for (size_t i = 0; block > 0 && i < offsets.size(); ++i) {
      point.pass(block);
      std::memcpy(out.data<char>() + offsets[i] * size,
                  updates.data<char>() + static_cast<int64_t>(i) * block * size,
                  static_cast<size_t>(block * size));
    }
    return;
  }
  dispatch(kAllTypes, data.dtype(), [&]<class T>() {
    CancelPoint point(ctx);
    for (size_t i = 0; i < offsets.size(); ++i)
      for (int64_t k = 0; k < block; ++k) {
        point.pass();
        const T update = updates.at<T>(static_cast<int64_t>(i) * block + k);
        const int64_t at = offsets[i] + k;
        out.set<T>(at, reduction == Reduction::kNone
                           ? update
                           : combine<T>(load_element<T>(out.bytes(), at), update, reduction));
      }
  });
}

}  // namespace tenon::cpu
