#include "compiler/cost.h"

namespace tenon::onednn {
namespace {

// Measured with `tenon bench --threads 1` on chains of eight equal nodes with 64 to 262,144 elements, on this
// provider and on the cpu provider. Where the difference varies, the smaller one is used. The rate of
// convolutions was lowered afterwards to what bench/orders.py measured on small networks.
constexpr double kPerConvolutionFlop = 0.008;  // windows of several elements
constexpr double kPerPointConvolutionFlop = 0.0006;
constexpr double kPerDepthwiseFlop = 0.1;
constexpr double kPerProductFlop = 0.0008;
constexpr double kPerPooledElement = 0.3;
constexpr double kPerReducedElement = 0.2;
constexpr double kPerNormalizedElement = 0.03;
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

double per_flop(const Dims& weights) {
  const double taps = count(Dims(weights.begin() + 2, weights.end()));
  if (weights[1] == 1 && taps > 1) return kPerDepthwiseFlop;
  return taps > 1 ? kPerConvolutionFlop : kPerPointConvolutionFlop;
}

Benefit of_convolution(std::span<const Dims> inputs, const Dims& image, bool transposed) {
  if (inputs.size() < 2 || inputs[1].size() < 3) return {};
  const Dims& weights = inputs[1];
  const double per_element = 2 * count(Dims(weights.begin() + 1, weights.end()));
  // The cpu provider's transposed convolutions are equally fast, except for the matrix product inside them.
  const double gain = transposed ? kPerPointConvolutionFlop : per_flop(weights);
  return {gain * per_element * count(image, true), kStep};
}

Benefit of_product(std::span<const Dims> inputs, const Dims& result) {
  if (inputs.empty() || inputs[0].empty()) return {};
  const int64_t length = inputs[0].back();
  return {kPerProductFlop * 2 * static_cast<double>(length < 0 ? kUnknown : length) * count(result), kStep};
}

}  // namespace

Benefit benefit_of(Work work, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  if (inputs.empty() || outputs.empty()) return {};
  const Dims &x = inputs[0], &y = outputs[0];
  switch (work) {
    case Work::kNone:
      return {};
    case Work::kPointwise:
      return {kPerPointwiseElement * count(y), kStep};
    case Work::kRows:
      return {0, kStep};
    case Work::kNormalization:
      return {kPerNormalizedElement * count(x), kLongStep};
    case Work::kReduction:
      return {kPerReducedElement * count(x), kLongStep};
    case Work::kPooling:
      return {kPerPooledElement * count(x, true), kStep};
    case Work::kConvolution:
      return of_convolution(inputs, y, false);
    case Work::kTransposedConvolution:
      return of_convolution(inputs, x, true);
    case Work::kProduct:
      return of_product(inputs, y);
  }
  return {};
}

Benefit benefit_of_border(double elements) { return {0, kGroup + kPerBorderElement * elements}; }

}  // namespace tenon::onednn
