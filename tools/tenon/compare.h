// Compares an output with the expected output by the rules of tolerance.h.
#pragma once

#include <string>

#include "host/include/tenon/tenon.hpp"
#include "tools/tenon/tolerance.h"

namespace tenon::cli {

/// Empty when `actual` is close enough to `expected`. Else a text that says what differs: kind, type, shape, or the
/// number of differing elements and the worst of them. NaN equals only NaN, an infinity only the same infinity.
/// Sequences and maps are compared element by element. `rigour`, `reference`: see tolerance.h.
std::string difference(const Value& actual, const Value& expected, Rigour rigour, bool reference);

struct ErrorStats {
  double max_absolute = 0, max_relative = 0, cosine = 1, signal_to_noise_db = 0;
};
/// For two float tensors of equal size.
ErrorStats error_stats(const Value& actual, const Value& expected);

}  // namespace tenon::cli
