// Tasks that several operators add.
#pragma once

#include "device.h"
#include "isa/integer.h"
#include "isa/move.h"
#include "islands/builder.h"

namespace tenon::cpu::islands {

/// Work of this size, in operations on one element, is worth a second thread.
inline constexpr int64_t kGrain = 1 << 14;

/// The operations of a product of `rows` rows with weights [k, n]. A few rows take as long as reading the weights does.
inline int64_t product_cost(int64_t rows, int64_t k, int64_t n) {
  return std::max<int64_t>(rows, 4) * k * n / 16;
}

/// Splits `n` pieces of `cost` operations each over the workers.
template <class F>
void each_piece(const Run& run, int64_t n, int64_t cost, F&& work) {
  run.ctx.parallel_for(n, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, cost)), work);
}

/// y[j, i] = x[i, j] for rows i and columns j of x.
inline void transpose(const float* x, int64_t ldx, int64_t rows, int64_t columns, float* y, int64_t ldy) {
  isa_table().move->transpose_4(x, ldx, y, ldy, columns, rows);
}

/// to = from; both have the same shape and form, floats or bytes. Bytes of int8 are toggled where only one side is kSigned.
void add_copy(Builder& b, const Tensor& from, const Tensor& to);
/// The same tensor in the other form.
void add_conversion(Builder& b, const Tensor& from, const Tensor& to);
/// `to` = from, repeated along axes where it has one element. Any shapes that broadcast; both plain, without gaps.
void add_expansion(Builder& b, const Tensor& from, const Tensor& to);
/// to = from, then the steps. Both have the same shape and form. Tensors of bytes have a scaling: they are read as what they stand
/// for, and written as the nearest byte. `steps.scaling` is not looked at.
void add_steps(Builder& b, const Tensor& from, const Tensor& to, const Steps& steps);

/// The sum of two quantised tensors, at least 0 with `relu`.
isa::QuantizedSum quantised_sum(const Scaling& a, const Scaling& b, const Scaling& result, bool relu);

}  // namespace tenon::cpu::islands
