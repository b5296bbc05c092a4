// Every cast goes in chunks through one of four wide types that holds all values of the source: 2 x 28 loops
// instead of 28 x 28. Frequent casts between native types have their own loops.
#include "kernels/common/cast.h"

#include <charconv>
#include <cmath>

#include "kernels/common/convert.h"

namespace tenon::cpu {
namespace {

constexpr auto kCastTypes = kNumericTypes + kBoolType + kFloat8Types + kSmallIntTypes + kScalingTypes;
constexpr int64_t kChunk = 512;  // a multiple of four, so that chunks of packed types begin at whole bytes

/// The wide type that holds every T.
template <class T>
using Wide = std::conditional_t<
    std::is_same_v<T, double>, double,
    std::conditional_t<kIsFloat<T>, float,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>>;

/// Truncates. NaN and values out of range give INT64_MIN, as the processor's own conversion does.
template <class F>
int64_t to_int64(F x) {
  if (!(x >= F(-9223372036854775808.0) && x < F(9223372036854775808.0))) return INT64_MIN;
  return static_cast<int64_t>(x);
}

template <class To, class From>
To narrow(From x, const CastRules& rules) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<To, Float8E8M0>) {
    return Float8E8M0::from(static_cast<float>(x), rules.saturate, rules.round);
  } else if constexpr (ep::kIsSmallFloat<To>) {
    return To::kWidth == 16 ? To(x) : To::from(static_cast<double>(x), rules.saturate);
  } else if constexpr (std::is_floating_point_v<To> || !std::is_floating_point_v<From>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    return x >= From(9223372036854775808.0) && x < From(18446744073709551616.0)
               ? static_cast<uint64_t>(x)
               : static_cast<uint64_t>(to_int64(x));
  } else if constexpr (ep::kIsSmallInt<To>) {
    if (!rules.saturate_small_ints || x != x) return static_cast<To>(to_int64(x));
    return static_cast<To>(static_cast<int>(std::clamp(x, From(To::kLowest), From(To::kHighest))));
  } else {
    return static_cast<To>(to_int64(x));
  }
}

template <class From>
void widen(const void* from, int64_t start, int64_t n, Wide<From>* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Wide<From>>(load_element<From>(from, start + i));
}

template <class W>
void narrow_all(const W* from, uint32_t dtype, void* to, int64_t start, int64_t n, const CastRules& rules) {
  dispatch(kCastTypes, dtype, [&]<class To>() {
    for (int64_t i = 0; i < n; ++i) store_element<To>(to, start + i, narrow<To>(from[i], rules));
  });
}

// ---- Strings ----

template <class T>
std::string to_text(T x) {
  char text[64];
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "True" : "False";
  } else if constexpr (kIsFloat<T>) {
    const auto value = static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x);
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
    const auto magnitude = std::fabs(value);
    const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
    const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
    std::string out(text, std::to_chars(text, text + sizeof(text), value, format).ptr);
    if (plain && out.find('.') == std::string::npos) out += ".0";
    return out;
  } else {
    return std::to_string(static_cast<std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>(x));
  }
}

/// Parses decimal numbers, "inf" and "nan" in any case, with a sign and spaces around.
double parse(std::string_view text) {
  const std::string_view whole = text;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Out of range for double. The sign of the exponent tells whether it is too large or too small.
    const size_t exponent = text.find_first_of("eE");
    const bool tiny =
        exponent != std::string_view::npos && text.substr(exponent).find('-') != std::string_view::npos;
    const double size = tiny ? 0.0 : HUGE_VAL;
    return text.starts_with('-') ? -size : size;
  }
  require(error == std::errc() && end == text.data() + text.size() && !text.empty(), TENON_INVALID_ARGUMENT,
          "the string '", whole, "' is not a number");
  return value;
}

template <class To>
To from_text(std::string_view text, const CastRules& rules) {
  if constexpr (std::is_same_v<To, int64_t> || std::is_same_v<To, uint64_t>) {
    To value = 0;
    const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
  }
  return narrow<To>(parse(text), rules);
}

void cast_from_strings(TensorView from, OutputTensor to, const CastRules& rules) {
  dispatch(kCastTypes, to.dtype(), [&]<class To>() {
    for (int64_t i = 0, n = from.size(); i < n; ++i) to.set<To>(i, from_text<To>(from.string(i), rules));
  });
}

void cast_to_strings(const Context& ctx, TensorView from, int output) {
  StringBuilder out;
  const int64_t n = from.size();
  if (from.dtype() == TENON_STRING) {
    for (int64_t i = 0; i < n; ++i) out.add(from.string(i));
  } else {
    dispatch(kCastTypes, from.dtype(), [&]<class From>() {
      for (int64_t i = 0; i < n; ++i) out.add(to_text(from.at<From>(i)));
    });
  }
  ctx.set_strings(output, from.dims(), out);
}

}  // namespace

bool can_cast(uint32_t from, uint32_t to) {
  const auto known = [](uint32_t dtype) { return dtype == TENON_STRING || kCastTypes.contains(dtype); };
  return known(from) && known(to);
}

void cast_elements(uint32_t from_dtype, const void* from, uint32_t to_dtype, void* to, int64_t start,
                   int64_t n, const CastRules& rules) {
  if (from_dtype == TENON_FLOAT32 && to_dtype == TENON_FLOAT16) {
    return from_float(static_cast<const float*>(from) + start, static_cast<Float16*>(to) + start, n);
  }
  if (from_dtype == TENON_FLOAT16 && to_dtype == TENON_FLOAT32) {
    return to_float(static_cast<const Float16*>(from) + start, static_cast<float*>(to) + start, n);
  }
  if (from_dtype == TENON_INT32 && to_dtype == TENON_FLOAT32) {
    const int32_t* const x = static_cast<const int32_t*>(from) + start;
    float* const y = static_cast<float*>(to) + start;
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
    return;
  }
  dispatch(kCastTypes, from_dtype, [&]<class From>() {
    Wide<From> chunk[kChunk];
    for (int64_t done = 0; done < n; done += kChunk) {
      const int64_t size = std::min(kChunk, n - done);
      widen<From>(from, start + done, size, chunk);
      narrow_all(chunk, to_dtype, to, start + done, size, rules);
    }
  });
}

void cast_tensor(const Context& ctx, TensorView from, int output, const CastRules& rules) {
  const OutputTensor to = ctx.output(output);
  if (to.dtype() == TENON_STRING) return cast_to_strings(ctx, from, output);
  if (from.dtype() == TENON_STRING) return cast_from_strings(from, to, rules);
  const int64_t n = from.size();
  ctx.parallel_for((n + kChunk - 1) / kChunk, kGrainCheap / kChunk, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kChunk;
    cast_elements(from.dtype(), from.bytes(), to.dtype(), to.bytes(), first,
                  std::min(end * kChunk, n) - first, rules);
  });
}

}  // namespace tenon::cpu
