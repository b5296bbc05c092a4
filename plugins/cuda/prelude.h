// The text put before every source: types, arguments, loops, and what many kernels need. It is CUDA C++ and includes nothing.
#pragma once

#include <string_view>

namespace tenon::cuda {

std::string_view prelude();

}  // namespace tenon::cuda
