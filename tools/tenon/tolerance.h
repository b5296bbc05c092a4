// How far an output may be from the expected one: the one table, without exceptions for single cases.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::cli {

/// What kind of case is judged.
enum class Rigour {
  kOperator,   // one operator or a few: |a - e| <= atol + rtol |e|
  kNetwork,    // atol is scaled by the output's root mean square, errors adding up over layers, and at least
               // that of an operator
  kQuantized,  // a quantized network: cosine and signal-to-noise bounds, since one step per layer may differ
};
std::string rigour_name(Rigour rigour);

struct Tolerance {
  double rtol, atol;
  bool one_step;  // also accepted: the neighbouring number of the type
};

/// For float outputs of `dtype`. `reference` is false where a device other than the completing provider took
/// part: its arithmetic may order sums differently.
Tolerance tolerance_for(uint32_t dtype, bool reference);

inline constexpr double kQuantizedCosine = 0.995;
inline constexpr double kQuantizedSignalToNoiseDb = 20;

}  // namespace tenon::cli
