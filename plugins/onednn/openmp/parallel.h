// A parallel loop on the threads of the Run, on the same runtime as oneDNN. Use it within a Team.
#pragma once

#include <cstdint>

namespace tenon::onednn {

namespace detail {
using Loop = void (*)(void* context, int64_t begin, int64_t end);
void parallel(int64_t n, int64_t grain, Loop loop, void* context);
}  // namespace detail

/// Calls f(begin, end) for pieces of [0, n) with at least `grain` elements.
template <class F>
void parallel(int64_t n, int64_t grain, F&& f) {
  detail::parallel(
      n, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<F*>(context))(begin, end); },
      &f);
}

}  // namespace tenon::onednn
