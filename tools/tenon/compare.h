// Compares an output with the expected one by the rules of tolerance.h.
#pragma once

#include <string>

#include "host/include/tenon/tenon.hpp"
#include "tools/tenon/tolerance.h"

namespace tenon::cli {

/// Empty when `actual` is as good as `expected`; else what differs: kind, type, shape, or how many elements,
/// which is the worst, with both values. NaN equals NaN only, an infinity the same infinity only. Sequences
/// and maps element by element.
std::string difference(const Value& actual, const Value& expected, Rigour rigour, bool reference);

struct ErrorStats {
  double max_absolute = 0, max_relative = 0, cosine = 1, signal_to_noise_db = 0;
};
/// Of two float tensors of equal size.
ErrorStats error_stats(const Value& actual, const Value& expected);

}  // namespace tenon::cli
