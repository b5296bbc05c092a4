#include "kernels/common/strided.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

constexpr int64_t kGrainBytes = int64_t{64} * 1024;

template <class T>
void copy_row(T* out, const T* in, int64_t n, int64_t stride) {
  if (stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(out, n, *in);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}

// Swaps the two innermost dims like a matrix transposition. Tiles keep both sides in cache.
template <class T>
void copy_tile(T* out, const T* in, int64_t rows, int64_t columns, int64_t row_stride,
               int64_t column_stride) {
  constexpr int64_t kTile = 16;
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const int64_t r1 = std::min(rows, r0 + kTile), c1 = std::min(columns, c0 + kTile);
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c) out[r * columns + c] = in[r * row_stride + c * column_stride];
    }
  }
}

template <class T>
void copy_by_walk(const Context& ctx, T* out, const T* in, const StridedWalk& walk) {
  const size_t rank = walk.dims.size();
  const int64_t columns = walk.dims[rank - 1], column_stride = walk.strides[rank - 1];
  if (rank >= 2 && column_stride != 1 && column_stride != 0 && walk.strides[rank - 2] == 1) {
    const int64_t rows = walk.dims[rank - 2];
    int64_t planes = 1;
    for (size_t i = 0; i + 2 < rank; ++i) planes *= walk.dims[i];
    ctx.parallel_for(planes, std::max<int64_t>(1, kGrainBytes / (rows * columns * int64_t{sizeof(T)})),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t p = begin; p < end; ++p)
                         copy_tile(out + p * rows * columns, in + walk.row(p, 2), rows, columns, 1,
                                   column_stride);
                     });
    return;
  }
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < rank; ++i) rows *= walk.dims[i];
  const int64_t grain =
      std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, columns * int64_t{sizeof(T)}));
  ctx.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      copy_row(out + r * columns, in + walk.row(r), columns, column_stride);
  });
}

}  // namespace

Around around(DimsView dims, int64_t axis) {
  Around out;
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
    int64_t& product = i < axis ? out.outer : i == axis ? out.axis : out.inner;
    product = wrapping_product(product, dims[static_cast<size_t>(i)]);
  }
  return out;
}

StridedWalk::StridedWalk(DimsView out, DimsView steps, int64_t first)
    : offset(first), empty(element_count(out) == 0) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 1) continue;
    int64_t merged = 0;
    if (!dims.empty() && strides.back() == steps[i] * out[i] &&
        !__builtin_mul_overflow(dims.back(), out[i], &merged)) {
      dims.back() = merged;
      strides.back() = steps[i];
    } else {
      dims.push_back(out[i]);
      strides.push_back(steps[i]);
    }
  }
  if (dims.empty()) dims = {1}, strides = {1};
}

void copy_strided(const Context& ctx, TensorView input, int output, const StridedWalk& walk) {
  const uint32_t bits = dtype_bits(input.dtype());
  if (bits >= 8) {
    if (walk.empty) return;
    dispatch_size(input.dtype(), [&]<class T>() {
      copy_by_walk(ctx, ctx.output(output).data<T>(), input.data<T>() + walk.offset, walk);
    });
    return;
  }
  BlockWriter writer(ctx, output);
  const int64_t columns = walk.dims.back(), stride = walk.strides.back();
  const int64_t rows = walk.empty ? 0 : element_count(walk.dims) / columns;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t first = walk.offset + walk.row(r);
    if (stride == 1) {
      writer.append(input, first, columns);
    } else {
      for (int64_t c = 0; c < columns; ++c) writer.append(input, first + c * stride, 1);
    }
  }
  writer.finish();
}

}  // namespace tenon::cpu
