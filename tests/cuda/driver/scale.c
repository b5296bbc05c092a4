/* Work of a library, for library_work_test.cc: y = x * factor. */
#include "scale.h"

const char* fake_cuda_test_scale(void* const* memory, const void* arguments, size_t bytes) {
  const struct fake_cuda_test_scale_arguments* all = arguments;
  const float* x = memory[0];
  float* y = memory[1];
  if (bytes != sizeof(*all) || all->last != 7) return "the arguments have not arrived";
  for (int i = 0; i < all->count; ++i) y[i] = x[i] * all->factor;
  return 0;
}
