// A product with a row per pixel and the depthwise convolution of its result, in bands of lines: what the product makes stays in the
// second-level cache until the convolution reads it, and never exists as a whole. Networks for small devices widen images so before each
// depthwise convolution.
#pragma once

#include "islands/product.h"

namespace tenon::cpu::islands {

struct Bands {
  Factors product;  // one group, without places
  Steps inner;      // what follows it
  isa::Depthwise
      depthwise;  // all but addresses, ldx and steps; without rows of padding it reads each line of the product
  int64_t images = 1;
};

/// Whether bands are possible and worth it: the result of the product leaves the cache, and its steps are the same for all rows.
bool takes_bands(const Bands& bands);
/// Whether the steps are the same for all rows.
bool ignores_rows(const Steps& steps);
/// Computes y with the steps `last`, which ignore rows, too.
void add_bands(Builder& b, const Bands& bands, const Tensor& y, const Steps& last);

}  // namespace tenon::cpu::islands
