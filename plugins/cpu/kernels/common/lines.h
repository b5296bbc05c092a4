// Operators on lines along one axis, in float32 or double for any float type.
#pragma once

#include "kernels/common/convert.h"
#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {

/// Calls line(C* data, n) for each line of `axis` elements, which it changes in a copy; the copy is then
/// written to output 0. C is float for float16 and bfloat16.
template <class T, class F>
void for_each_line(const Context& ctx, const Around& at, F&& line) {
  using C = Compute<T>;
  const T* in = ctx.input(0).data<T>();
  T* out = ctx.output(0).template data<T>();
  if (at.axis == 0) return;
  const int64_t grain = std::max<int64_t>(1, kGrainCostly / std::max<int64_t>(1, at.axis));
  const WorkerLists<C> copies(ctx, at.axis);
  ctx.parallel_for(at.outer * at.inner, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
    const std::span<C> copy = copies.of(worker);
    for (int64_t l = begin; l < end; ++l) {
      const int64_t first = l / at.inner * at.axis * at.inner + l % at.inner;
      for (int64_t i = 0; i < at.axis; ++i)
        copy[static_cast<size_t>(i)] = static_cast<C>(in[first + i * at.inner]);
      line(copy.data(), at.axis);
      for (int64_t i = 0; i < at.axis; ++i)
        out[first + i * at.inner] = static_cast<T>(copy[static_cast<size_t>(i)]);
    }
  });
}

/// Reads any float tensor as doubles. For the few parameters of normalisations.
inline void copy_doubles(TensorView tensor, std::span<double> out) {
  dispatch(kFloatTypes, tensor.dtype(), [&]<class T>() {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(static_cast<Compute<T>>(tensor.at<T>(static_cast<int64_t>(i))));
  });
}
/// For prepare and constructors.
inline std::vector<double> as_doubles(TensorView tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.size()));
  copy_doubles(tensor, out);
  return out;
}
/// For Run: in scratch memory.
inline std::span<double> as_doubles(const Context& ctx, TensorView tensor) {
  const std::span<double> out = scratch_list<double>(ctx, tensor.size());
  copy_doubles(tensor, out);
  return out;
}

}  // namespace tenon::cpu
