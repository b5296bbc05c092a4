// Makes C++ for g++ out of CUDA C++ that has been preprocessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fake_cuda {

struct Translation {
  std::string text;
  std::string errors;  // why it cannot be compiled
};

/// `names`: expressions of nvrtcAddNameExpression.
Translation translate(std::string_view text, const std::vector<std::string>& names, bool device_by_default);
/// What nvrtcGetLoweredName gives.
std::string lowered_name(const std::string& expression);

}  // namespace fake_cuda
