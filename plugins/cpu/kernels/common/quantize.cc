#include "kernels/common/quantize.h"

namespace tenon::cpu {

ScaleMap::ScaleMap(DimsView data, DimsView scale, int64_t axis, int64_t block) {
  const int64_t count = element_count(scale), elements = element_count(data);
  if (block == 0 && (scale.empty() || (count == 1 && scale.size() == 1))) {
    kind_ = kTensor;
    at_ = {1, 1, elements};
    lines_ = ceil_div(elements, kChunk), longest_ = kChunk;
    return;
  }
  const int rank = static_cast<int>(data.size());
  const int at = normalize_axis(axis, rank);
  at_ = around(data, at);
  if (block == 0) {
    kind_ = kAxis;
    require(scale.size() == 1 && count == at_.axis, TENON_INVALID_ARGUMENT, "scale ", scale,
            " does not fit axis ", axis, " of ", data);
  } else {
    require(block > 0, TENON_INVALID_ARGUMENT, "block_size is ", block);
    kind_ = kBlock;
    block_ = block;
    blocks_ = at_.axis / block + (at_.axis % block != 0);
    Dims expected(data.begin(), data.end());
    expected[static_cast<size_t>(at)] = blocks_;
    require(std::equal(scale.begin(), scale.end(), expected.begin(), expected.end()), TENON_INVALID_ARGUMENT,
            "scale ", scale, " does not fit ", data, " in blocks of ", block);
  }
  if (elements == 0) return;
  if (at_.inner > 1) {
    lines_ = at_.outer * at_.axis, longest_ = at_.inner;
  } else if (kind_ == kAxis) {
    lines_ = at_.outer, longest_ = at_.axis;
  } else {
    lines_ = at_.outer * blocks_, longest_ = std::min(block_, at_.axis);
  }
}

ScaleLine ScaleMap::line(int64_t i) const {
  if (kind_ == kTensor) return {i * kChunk, std::min(kChunk, at_.inner - i * kChunk), 0, false};
  if (kind_ == kAxis && at_.inner == 1) return {i * at_.axis, at_.axis, 0, true};
  if (kind_ == kAxis) return {i * at_.inner, at_.inner, i % at_.axis, false};
  if (at_.inner == 1) {
    const int64_t outer = i / blocks_, first = i % blocks_ * block_;
    return {outer * at_.axis + first, std::min(block_, at_.axis - first), i, false};
  }
  return {i * at_.inner, at_.inner, (i / at_.axis * blocks_ + i % at_.axis / block_) * at_.inner, true};
}

std::span<const float> as_floats(const Context& ctx, TensorView tensor, int64_t count) {
  if (tensor.present() && tensor.dtype() == TENON_FLOAT32)
    return {tensor.data<float>(), static_cast<size_t>(tensor.size())};
  const std::span<float> out = scratch_list<float>(ctx, tensor.present() ? tensor.size() : count);
  if (!tensor.present()) {
    std::fill(out.begin(), out.end(), 0.0f);
    return out;
  }
  dispatch(kNumericTypes + kFloat8Types + kSmallIntTypes + kScalingTypes, tensor.dtype(), [&]<class T>() {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(static_cast<Compute<T>>(tensor.at<T>(static_cast<int64_t>(i))));
  });
  return out;
}

}  // namespace tenon::cpu
