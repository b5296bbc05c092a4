#include "openmp/parallel.h"

#include <omp.h>

#include <algorithm>

namespace tenon::onednn::detail {

void parallel(int64_t n, int64_t grain, Loop loop, void* context) {
  const int64_t pieces = std::min<int64_t>(omp_get_max_threads(), n / std::max<int64_t>(grain, 1));
  if (pieces <= 1) return loop(context, 0, n);
#pragma omp parallel num_threads(static_cast <int>(pieces))
  {
    const int64_t count = omp_get_num_threads(), piece = omp_get_thread_num();
    loop(context, n * piece / count, n * (piece + 1) / count);
  }
}

}  // namespace tenon::onednn::detail
