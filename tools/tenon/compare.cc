#include "tools/tenon/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "ep-sdk/include/tenon/ep/numeric.hpp"
#include "tools/tenon/element.h"

namespace tenon::cli {
namespace {

std::string kind_name(uint32_t kind) {
  switch (kind) {
    case TENON_KIND_NONE:
      return "none";
    case TENON_KIND_TENSOR:
      return "tensor";
    case TENON_KIND_SEQUENCE:
      return "sequence";
    case TENON_KIND_OPTIONAL:
      return "optional";
    case TENON_KIND_MAP:
      return "map";
    default:
      return "kind " + std::to_string(kind);
  }
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? "," : "") + std::to_string(dims[i]);
  return out + "]";
}

bool is_inexact(uint32_t dtype) {
  Tolerance tolerance = tolerance_for(dtype, true);
  return tolerance.rtol > 0 || tolerance.one_step;
}

// The position of a small float in the order of its format: neighbours differ by one.
int64_t ordinal(const tenon_tensor& tensor, uint64_t index) {
  const uint32_t width = ep::dtype_bits(tensor.dtype);
  const uint64_t bit = index * width;
  const auto* bytes = static_cast<const uint8_t*>(tensor.data) + bit / 8;
  uint32_t raw = bytes[0];
  if (bit % 8 + width > 8) raw |= uint32_t{bytes[1]} << 8;
  raw = (raw >> (bit % 8)) & ((1u << width) - 1);
  if (tensor.dtype == TENON_FLOAT8E8M0) return raw;
  const uint32_t sign = 1u << (width - 1);
  return raw & sign ? -static_cast<int64_t>(raw & ~sign) : static_cast<int64_t>(raw);
}

double part_error(double a, double e) {
  if (std::isnan(a) || std::isnan(e))
    return std::isnan(a) && std::isnan(e) ? 0 : std::numeric_limits<double>::infinity();
  if (std::isinf(a) || std::isinf(e)) return a == e ? 0 : std::numeric_limits<double>::infinity();
  return std::abs(a - e);
}

std::string mismatch(const Value& actual, const Value& expected, uint64_t bad, uint64_t worst,
                     uint64_t count) {
  return std::to_string(bad) + " of " + std::to_string(count) + " elements differ, worst at " +
         std::to_string(worst) + ": " + element_text(actual, worst) + ", expected " +
         element_text(expected, worst);
}

std::string exact_difference(const Value& actual, const Value& expected, uint64_t count) {
  uint64_t bad = 0, first = 0;
  for (uint64_t i = 0; i < count; ++i)
    if (element_text(actual, i) != element_text(expected, i) && bad++ == 0) first = i;
  return bad ? mismatch(actual, expected, bad, first, count) : std::string();
}

double root_mean_square(const tenon_tensor& tensor, uint64_t count) {
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double magnitude = std::abs(element_value(tensor, i));
    if (std::isfinite(magnitude)) sum += magnitude * magnitude;
  }
  return count ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

std::string float_difference(const Value& actual, const Value& expected, uint64_t count, Rigour rigour,
                             bool reference) {
  const tenon_tensor a = actual.describe(), e = expected.describe();
  const Tolerance tolerance = rigour == Rigour::kOperator
                                  ? tolerance_for(e.dtype, reference)
                                  : network_tolerance_for(e.dtype, reference, root_mean_square(e, count));
  uint64_t bad = 0, worst = 0;
  double worst_excess = -1;
  for (uint64_t i = 0; i < count; ++i) {
    const std::complex<double> x = element_value(a, i), y = element_value(e, i);
    const double error = std::max(part_error(x.real(), y.real()), part_error(x.imag(), y.imag()));
    double allowed = tolerance.atol + tolerance.rtol * std::abs(y);
    if (!std::isfinite(allowed)) allowed = 0;  // an expected infinity or NaN must be matched exactly
    if (error <= allowed) continue;
    if (tolerance.one_step && std::isfinite(error) && std::abs(ordinal(a, i) - ordinal(e, i)) <= 1) continue;
    ++bad;
    if (error - allowed > worst_excess) worst_excess = error - allowed, worst = i;
  }
  return bad ? mismatch(actual, expected, bad, worst, count) : std::string();
}

std::string quantized_difference(const Value& actual, const Value& expected) {
  ErrorStats stats = error_stats(actual, expected);
  if (stats.cosine >= kQuantizedCosine && stats.signal_to_noise_db >= kQuantizedSignalToNoiseDb) return {};
  return "cosine " + std::to_string(stats.cosine) + " (at least " + std::to_string(kQuantizedCosine) +
         "), signal to noise " + std::to_string(stats.signal_to_noise_db) + " dB (at least " +
         std::to_string(kQuantizedSignalToNoiseDb) + ")";
}

std::string tensor_difference(const Value& actual, const Value& expected, Rigour rigour, bool reference) {
  if (actual.dtype() != expected.dtype())
    return "element type is " + element_name(actual.dtype()) + ", expected " + element_name(expected.dtype());
  if (actual.dims() != expected.dims())
    return "shape is " + dims_text(actual.dims()) + ", expected " + dims_text(expected.dims());
  uint64_t count = expected.element_count();
  if (!is_inexact(expected.dtype())) return exact_difference(actual, expected, count);
  std::string out = float_difference(actual, expected, count,
                                     rigour == Rigour::kQuantized ? Rigour::kNetwork : rigour, reference);
  if (!out.empty() && rigour == Rigour::kQuantized) out = quantized_difference(actual, expected);
  return out;
}

// Tensor `from`, of rank 1, with its elements in another order.
Value reordered(const Value& from, const std::vector<uint64_t>& order) {
  if (from.dtype() == TENON_STRING) {
    std::vector<std::string> texts;
    for (const uint64_t i : order) texts.emplace_back(from.string_at(i));
    return Value::strings(from.dims(), texts);
  }
  const size_t width = ep::dtype_bits(from.dtype()) / 8;  // map values have whole bytes
  const std::vector<int64_t> dims = from.dims();
  Value out = Value::empty_tensor(from.dtype(), dims);
  for (size_t i = 0; i < order.size(); ++i)
    std::memcpy(static_cast<char*>(out.describe().data) + i * width,
                static_cast<const char*>(from.describe().data) + order[i] * width, width);
  return out;
}

// The position in `actual` of each key of `expected`. Sets `out_missing` to a key that `actual` lacks.
std::vector<uint64_t> order_of_keys(const Value& actual, const Value& expected, std::string* out_missing) {
  std::map<std::string, uint64_t> places;
  for (uint64_t i = 0; i < actual.element_count(); ++i) places.emplace(element_text(actual, i), i);
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < expected.element_count(); ++i) {
    const auto found = places.find(element_text(expected, i));
    if (found == places.end()) {
      *out_missing = element_text(expected, i);
      return {};
    }
    out.push_back(found->second);
  }
  return out;
}

// Compares the values key by key, because a map has no order.
std::string map_difference(const Value& actual, const Value& expected, Rigour rigour, bool reference) {
  const Value keys = actual[0], expected_keys = expected[0];
  if (keys.dtype() != expected_keys.dtype())
    return "has keys of type " + element_name(keys.dtype()) + ", expected " +
           element_name(expected_keys.dtype());
  if (keys.element_count() != expected_keys.element_count())
    return "has " + std::to_string(keys.element_count()) + " keys, expected " +
           std::to_string(expected_keys.element_count());
  std::string missing;
  const std::vector<uint64_t> order = order_of_keys(keys, expected_keys, &missing);
  if (!missing.empty()) return "lacks the key " + missing;
  const bool sorted = std::is_sorted(order.begin(), order.end());
  const bool tensors = actual[1].kind() == TENON_KIND_TENSOR;
  if (!sorted && !tensors)
    return "has its keys in another order than expected, and its values are not a tensor";
  const std::string inner =
      difference(sorted ? actual[1] : reordered(actual[1], order), expected[1], rigour, reference);
  return inner.empty() ? inner : "values: " + inner;
}

}  // namespace

ErrorStats error_stats(const Value& actual, const Value& expected) {
  const tenon_tensor a = actual.describe(), e = expected.describe();
  ErrorStats stats;
  double dot = 0, aa = 0, ee = 0, noise = 0;
  const uint64_t count = expected.element_count();
  for (uint64_t i = 0; i < count; ++i) {
    const double x = element_value(a, i).real(), y = element_value(e, i).real();
    const double error = part_error(x, y);
    stats.max_absolute = std::max(stats.max_absolute, error);
    if (y != 0) stats.max_relative = std::max(stats.max_relative, error / std::abs(y));
    if (std::isnan(x) && std::isnan(y)) continue;
    dot += x * y;
    aa += x * x;
    ee += y * y;
    noise += error * error;
  }
  stats.cosine = aa > 0 && ee > 0 ? dot / std::sqrt(aa * ee) : (aa == ee ? 1 : 0);
  stats.signal_to_noise_db = noise == 0 ? 999 : ee > 0 ? 10 * std::log10(ee / noise) : -999;
  if (std::isnan(stats.cosine)) stats.cosine = 0;
  if (std::isnan(stats.signal_to_noise_db)) stats.signal_to_noise_db = -999;
  return stats;
}

std::string difference(const Value& actual, const Value& expected, Rigour rigour, bool reference) {
  // An optional with a value equals that value: test data omits the wrapper.
  if (actual.kind() == TENON_KIND_OPTIONAL && expected.kind() != TENON_KIND_OPTIONAL && actual.size() == 1)
    return difference(actual[0], expected, rigour, reference);
  if (expected.kind() == TENON_KIND_OPTIONAL && actual.kind() != TENON_KIND_OPTIONAL && expected.size() == 1)
    return difference(actual, expected[0], rigour, reference);
  const bool both_empty =
      (actual.kind() == TENON_KIND_NONE || (actual.kind() == TENON_KIND_OPTIONAL && actual.size() == 0)) &&
      (expected.kind() == TENON_KIND_NONE ||
       (expected.kind() == TENON_KIND_OPTIONAL && expected.size() == 0));
  if (both_empty) return {};
  if (actual.kind() != expected.kind())
    return "is a " + kind_name(actual.kind()) + ", expected a " + kind_name(expected.kind());
  if (actual.kind() == TENON_KIND_TENSOR) return tensor_difference(actual, expected, rigour, reference);
  if (actual.kind() == TENON_KIND_MAP) return map_difference(actual, expected, rigour, reference);
  if (actual.size() != expected.size())
    return "has " + std::to_string(actual.size()) + " elements, expected " + std::to_string(expected.size());
  for (uint64_t i = 0; i < expected.size(); ++i) {
    std::string inner = difference(actual[i], expected[i], rigour, reference);
    if (!inner.empty()) return "element " + std::to_string(i) + ": " + inner;
  }
  return {};
}

}  // namespace tenon::cli
