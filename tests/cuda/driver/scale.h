/* Arguments of work that is more than a command of a queue takes. */
#pragma once

#include <stddef.h>

struct fake_cuda_test_scale_arguments {
  float factor;
  int count;
  char unused[200000];
  int last; /* 7 */
};
