// Finds kernels in tokens, and what NVRTC refuses because it would be code of the host.
#pragma once

#include <string>
#include <vector>

#include "lexer.h"

namespace fake_cuda {

struct KernelDeclaration {
  std::string name;
  std::string launch_bounds;  // the arguments, or empty
  bool is_c = false;          // extern "C"
  bool is_template = false;
};

struct Declarations {
  std::vector<KernelDeclaration> kernels;
  std::string errors;  // in NVRTC's words
};

Declarations find_declarations(const std::vector<Token>& tokens, bool device_by_default);

}  // namespace fake_cuda
