// A loop on the threads of the Run: within a Team, on the runtime that oneDNN uses.
#pragma once

#include <cstdint>

namespace tenon::onednn {

namespace detail {
using Loop = void (*)(void* context, int64_t begin, int64_t end);
void parallel(int64_t n, int64_t grain, Loop loop, void* context);
}  // namespace detail

/// Calls f(begin, end) over [0, n) in pieces of at least `grain`.
template <class F>
void parallel(int64_t n, int64_t grain, F&& f) {
  detail::parallel(
      n, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<F*>(context))(begin, end); },
      &f);
}

}  // namespace tenon::onednn
