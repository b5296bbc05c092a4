#include "kernels/common/quantize.h"

namespace tenon::cpu {

ScaleMap::ScaleMap(DimsView data, DimsView scale, int64_t axis, int64_t block) {
  const int64_t count = element_count(scale);
  if (block == 0 && (scale.empty() || (count == 1 && scale.size() == 1))) {
    kind_ = kTensor;
    at_ = {1, 1, element_count(data)};
    return;
  }
  const int rank = static_cast<int>(data.size());
  const int at = normalize_axis(axis, rank);
  at_ = around(data, at);
  if (block == 0) {
    kind_ = kAxis;
    require(scale.size() == 1 && count == at_.axis, TENON_INVALID_ARGUMENT, "scale ", scale,
            " does not fit axis ", axis, " of ", data);
    return;
  }
  require(block > 0, TENON_INVALID_ARGUMENT, "block_size is ", block);
  kind_ = kBlock;
  block_ = block;
  blocks_ = at_.axis / block + (at_.axis % block != 0);
  Dims expected(data.begin(), data.end());
  expected[static_cast<size_t>(at)] = blocks_;
  require(std::equal(scale.begin(), scale.end(), expected.begin(), expected.end()), TENON_INVALID_ARGUMENT,
          "scale ", scale, " does not fit ", data, " in blocks of ", block);
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
