// Compilers need more stack than the thread of an application may have left.
#pragma once

#include <functional>

namespace tenon::cuda {

/// Runs `body` on a thread with a large stack, and throws what it throws.
void with_deep_stack(const std::function<void()>& body);

}  // namespace tenon::cuda
