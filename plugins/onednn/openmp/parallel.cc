#include "openmp/parallel.h"

#include <algorithm>

// Calls the OpenMP runtime by its symbols. With pragmas, each compiler would call its own runtime.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
}

namespace tenon::onednn::detail {
namespace {

struct Work {
  Loop loop;
  void* context;
  int64_t n;
};

void run_piece(void* data) {
  const Work& work = *static_cast<const Work*>(data);
  const int64_t count = omp_get_num_threads(), piece = omp_get_thread_num();
  work.loop(work.context, work.n * piece / count, work.n * (piece + 1) / count);
}

}  // namespace

void parallel(int64_t n, int64_t grain, Loop loop, void* context) {
  const int64_t pieces = std::min<int64_t>(omp_get_max_threads(), n / std::max<int64_t>(grain, 1));
  if (pieces <= 1) return loop(context, 0, n);
  Work work{loop, context, n};
  GOMP_parallel(run_piece, &work, static_cast<unsigned>(pieces), 0);
}

}  // namespace tenon::onednn::detail
