#include "tools/tenon/tolerance.h"

#include <algorithm>

#include "ep-sdk/include/tenon/ep.h"

namespace tenon::cli {

std::string rigour_name(Rigour rigour) {
  switch (rigour) {
    case Rigour::kOperator:
      return "operator";
    case Rigour::kNetwork:
      return "network";
    case Rigour::kQuantized:
      return "quantized";
  }
  return "?";
}

Tolerance tolerance_for(uint32_t dtype, bool reference) {
  switch (dtype) {
    case TENON_FLOAT32:
    case TENON_FLOAT64:
    case TENON_COMPLEX64:
    case TENON_COMPLEX128:
      return {1e-3, reference ? 1e-7 : 1e-5, false};
    case TENON_FLOAT16:
      return {2.5e-3, 1e-3, false};
    case TENON_BFLOAT16:
      return {2e-2, 1e-2, false};
    case TENON_FLOAT8E4M3FN:
    case TENON_FLOAT8E4M3FNUZ:
    case TENON_FLOAT8E5M2:
    case TENON_FLOAT8E5M2FNUZ:
    case TENON_FLOAT8E8M0:
    case TENON_FLOAT6E2M3:
    case TENON_FLOAT6E3M2:
    case TENON_FLOAT4E2M1:
      return {0, 0, true};
    default:
      return {0, 0, false};  // integers, bool, strings: exact
  }
}

Tolerance network_tolerance_for(uint32_t dtype, bool reference, double root_mean_square) {
  const Tolerance loose = tolerance_for(dtype, false);
  return {loose.rtol, std::max(loose.atol * root_mean_square, tolerance_for(dtype, reference).atol),
          loose.one_step};
}

bool is_published_loosely(std::string_view op_type) { return op_type == "DFT" || op_type == "STFT"; }

}  // namespace tenon::cli
