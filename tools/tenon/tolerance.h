// How far an output may differ from the expected output: one table for all cases. It depends on the element type, on
// the kind of model, and on operators whose published outputs are inexact. It does not know single cases.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::cli {

/// The kind of case that is compared.
enum class Rigour {
  kOperator,  // one operator or a few: |a - e| <= atol + rtol |e|
  kNetwork,   // the same, but atol grows with the output's root mean square: errors add up over layers
  kQuantized,  // a quantized network: as kNetwork, or within the noise bounds below, because each layer may round a
               // number between two steps either way
};
std::string rigour_name(Rigour rigour);

struct Tolerance {
  double rtol, atol;
  bool one_step;  // the neighbouring number of the type is accepted, too
};

/// For outputs of `dtype`. `reference`: all nodes ran on a provider that completes models or on the host, and
/// is_published_loosely() is false for all operators. Otherwise atol of float32 and wider types is larger.
Tolerance tolerance_for(uint32_t dtype, bool reference);
/// The same, for a network whose expected output has this root mean square.
Tolerance network_tolerance_for(uint32_t dtype, bool reference, double root_mean_square);
/// True for DFT and STFT: ONNX's expected outputs for them contain the rounding errors of float32 sums.
bool is_published_loosely(std::string_view op_type);

/// Lower bounds for the output of a quantized network.
inline constexpr double kQuantizedCosine = 0.998;
inline constexpr double kQuantizedSignalToNoiseDb = 26;

}  // namespace tenon::cli
