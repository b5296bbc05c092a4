// How far an output may be from the expected one: one table for all cases. It knows element types, kinds of model, and
// operators whose published outputs are rounded; it knows no case by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::cli {

/// What kind of case is judged.
enum class Rigour {
  kOperator,  // one operator or a few: |a - e| <= atol + rtol |e|
  kNetwork,   // the same, where atol grows with the output's root mean square: errors add up over layers
  kQuantized,  // a quantized network: as kNetwork, or else the bounds on noise below, since a number between two
               // steps may go to either in each layer
};
std::string rigour_name(Rigour rigour);

struct Tolerance {
  double rtol, atol;
  bool one_step;  // also accepted: the neighbouring number of the type
};

/// For float outputs of `dtype`. `reference`: only the completing provider took part, in whose order of sums operators
/// are specified, and no operator is published loosely; else atol is larger.
Tolerance tolerance_for(uint32_t dtype, bool reference);
/// The same for a network whose expected output has this root mean square.
Tolerance network_tolerance_for(uint32_t dtype, bool reference, double root_mean_square);
/// Operators of which ONNX's own expected outputs carry the rounding of float32 sums: DFT and STFT.
bool is_published_loosely(std::string_view op_type);

/// Of a quantized network's output: how alike the directions are, and how strong the output is against its error.
inline constexpr double kQuantizedCosine = 0.998;
inline constexpr double kQuantizedSignalToNoiseDb = 26;

}  // namespace tenon::cli
