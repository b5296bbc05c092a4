#include "compiler/cost.h"

namespace tenon::onednn {
namespace {

// Measured with `tenon bench --threads 1` on exported networks, on this provider and on the cpu provider. Convolutions of up to
// two spatial axes and products run in islands of the cpu provider, on average as fast as here or faster, and so do attention,
// pools, reductions and normalisations. In bfloat16 a product takes about half the time, and of products with weights only
// this provider has it; but the cpu provider's convolutions by tiles (Winograd) take less than half in float32, and oneDNN's
// transposed ones are slow.
constexpr double kPerVolumeConvolutionFlop = 0.008;  // three spatial axes
constexpr double kPerBFloat16Flop = 0.001;
constexpr double kPerBFloat16FlopByTiles = -0.0002, kPerBFloat16FlopTransposed = -0.005;
constexpr double kPerPointwiseElement = -0.03;
constexpr double kStep = 250, kLongStep = 500, kGroup = 500, kPerBorderElement = 0.1;

/// Assumed lengths of unknown dims: sides of images, which have more than one pixel, and other axes.
constexpr int64_t kUnknownSide = 32, kUnknown = 1;

double count(const Dims& dims, bool image = false) {
  double out = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t otherwise = image && i >= 2 ? kUnknownSide : kUnknown;
    out *= static_cast<double>(dims[i] < 0 ? otherwise : dims[i]);
  }
  return out;
}

/// Whether the cpu provider computes the convolution by tiles: 3x3, stride 1, channels and pixels enough.
bool is_by_tiles(const Dims& x, const Dims& weights, const Dims& y) {
  constexpr int64_t kFewestChannels = 16, kFewestPixels = 10;
  if (x.size() != 4 || weights.size() != 4 || y.size() != 4 || x[1] != weights[1]) return false;
  if (weights[0] < kFewestChannels || weights[1] < kFewestChannels) return false;
  for (size_t i = 2; i < 4; ++i) {
    const int64_t in = x[i] < 0 ? kUnknownSide : x[i], out = y[i] < 0 ? in : y[i];
    if (weights[i] != 3 || out < kFewestPixels || out + 2 < in) return false;
  }
  return true;
}

double bf16_gain(const Dims& x, const Dims& weights, const Dims& y, bool transposed) {
  if (transposed) return kPerBFloat16FlopTransposed;
  return is_by_tiles(x, weights, y) ? kPerBFloat16FlopByTiles : kPerBFloat16Flop;
}

Benefit of_convolution(std::span<const Dims> inputs, const Dims& y, bool transposed, bool bf16) {
  if (inputs.size() < 2 || inputs[1].size() < 3) return {};
  const Dims &weights = inputs[1], &image = transposed ? inputs[0] : y;
  const double per_element = 2 * count(Dims(weights.begin() + 1, weights.end()));
  // Transposed ones gain a little here, less than the convolutions around them lose outside of an island.
  const double gain = (weights.size() > 4 && !transposed ? kPerVolumeConvolutionFlop : 0) +
                      (bf16 ? bf16_gain(inputs[0], weights, y, transposed) : 0);
  return {gain * per_element * count(image, true), kStep};
}

Benefit of_product(std::span<const Dims> inputs, const Dims& result, bool bf16) {
  if (inputs.empty() || inputs[0].empty()) return {};
  const int64_t length = inputs[0].back();
  const double gain = bf16 ? kPerBFloat16Flop : 0;
  return {gain * 2 * static_cast<double>(length < 0 ? kUnknown : length) * count(result), kStep};
}

}  // namespace

Benefit benefit_of(Work work, std::span<const Dims> inputs, std::span<const Dims> outputs, bool bf16) {
  if (inputs.empty() || outputs.empty()) return {};
  const Dims& y = outputs[0];
  switch (work) {
    case Work::kNone:
      return {};
    case Work::kPointwise:
      return {kPerPointwiseElement * count(y), kStep};
    case Work::kRows:
    case Work::kPooling:
      return {0, kStep};
    case Work::kNormalization:
    case Work::kReduction:
      return {0, kLongStep};
    case Work::kConvolution:
      return of_convolution(inputs, y, false, bf16);
    case Work::kTransposedConvolution:
      return of_convolution(inputs, y, true, bf16);
    case Work::kProduct:
      return of_product(inputs, y, bf16);
  }
  return {};
}

Benefit benefit_of_border(double elements) { return {0, kGroup + kPerBorderElement * elements}; }

}  // namespace tenon::onednn
