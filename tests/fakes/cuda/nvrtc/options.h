// The options of NVRTC.
#pragma once

#include <string>
#include <vector>

namespace fake_cuda {

struct Options {
  std::vector<std::string> texts;  // all
  int architecture = 75;
  bool is_virtual = true;  // compute_XX: no cubin
  bool fmad = true, fast_math = false, device_by_default = false, warnings = true;
  int standard = 17;
  std::vector<std::string> preprocessor;  // -D, -U, -I, -include, as g++ takes them
};

/// The architectures that NVRTC 13.0 compiles for.
const std::vector<int>& architectures();
/// Returns an empty text, or what NVRTC says of the option that it does not take.
std::string read_options(const std::vector<std::string>& texts, Options* out);

}  // namespace fake_cuda
