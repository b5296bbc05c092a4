#include "kernels/common/strided.h"

#include <algorithm>
#include <array>

#include "device.h"
#include "isa/move.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kGrainBytes = int64_t{64} * 1024;

template <class T>
void copy_row(T* out, const T* in, int64_t n, int64_t stride) {
  constexpr int64_t kFew = 16;  // a call of memcpy costs more
  if (stride == 1 && n > kFew) {
    std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(out, n, *in);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}

/// out[r * out_stride + c] = in[c * in_stride + r].
template <class T>
void transpose(const T* in, int64_t in_stride, T* out, int64_t out_stride, int64_t rows, int64_t columns) {
  const isa::Moves& move = *isa_table().move;
  if constexpr (sizeof(T) == 1) {
    move.transpose_1(in, in_stride, out, out_stride, rows, columns);
  } else if constexpr (sizeof(T) == 2) {
    move.transpose_2(in, in_stride, out, out_stride, rows, columns);
  } else if constexpr (sizeof(T) == 4) {
    move.transpose_4(in, in_stride, out, out_stride, rows, columns);
  } else if constexpr (sizeof(T) == 8) {
    move.transpose_8(in, in_stride, out, out_stride, rows, columns);
  } else {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) out[r * out_stride + c] = in[c * in_stride + r];
  }
}

/// The dim, not the last, along which the input's elements are neighbours; -1 if there is none. Then this dim
/// and the last change places like rows and columns of matrices.
int64_t dim_of_neighbours(const StridedWalk& walk) {
  if (walk.strides.back() == 0 || walk.strides.back() == 1) return -1;
  for (size_t d = walk.dims.size() - 1; d-- > 0;)
    if (walk.strides[d] == 1) return static_cast<int64_t>(d);
  return -1;
}

template <class T>
void copy_transposed(const Context& ctx, T* out, const T* in, const StridedWalk& walk, size_t dim) {
  constexpr int64_t kRows = 64, kColumns = 1024;  // of a piece
  const int64_t rows = walk.dims[dim], columns = walk.dims.back();
  const int64_t row_pieces = (rows + kRows - 1) / kRows, column_pieces = (columns + kColumns - 1) / kColumns;
  std::array<int64_t, TENON_EP_MAX_RANK> out_strides{};
  int64_t out_size = 1;
  for (size_t d = walk.dims.size(); d-- > 0; out_size *= walk.dims[d]) out_strides[d] = out_size;
  const int64_t planes = out_size / (rows * columns);
  const int64_t size = std::min(rows, kRows) * std::min(columns, kColumns) * int64_t{sizeof(T)};
  ctx.parallel_for(
      planes * row_pieces * column_pieces, std::max<int64_t>(1, kGrainBytes / size),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t column = i % column_pieces * kColumns, row = i / column_pieces % row_pieces * kRows;
          int64_t from = row + column * walk.strides.back(), to = row * out_strides[dim] + column;
          int64_t plane = i / column_pieces / row_pieces;
          for (size_t d = walk.dims.size() - 1; d-- > 0;) {
            if (d == dim) continue;
            from += plane % walk.dims[d] * walk.strides[d];
            to += plane % walk.dims[d] * out_strides[d];
            plane /= walk.dims[d];
          }
          transpose(in + from, walk.strides.back(), out + to, out_strides[dim], std::min(kRows, rows - row),
                    std::min(kColumns, columns - column));
        }
      });
}

template <class T>
void copy_by_walk(const Context& ctx, T* out, const T* in, const StridedWalk& walk) {
  const size_t rank = walk.dims.size();
  const int64_t columns = walk.dims[rank - 1], column_stride = walk.strides[rank - 1];
  if (const int64_t dim = dim_of_neighbours(walk); dim >= 0)
    return copy_transposed(ctx, out, in, walk, static_cast<size_t>(dim));
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < rank; ++i) rows *= walk.dims[i];
  const int64_t grain =
      std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, columns * int64_t{sizeof(T)}));
  const int64_t *dims = walk.dims.data(), *strides = walk.strides.data();
  ctx.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    std::array<int64_t, TENON_EP_MAX_RANK> index{};
    int64_t at = walk.row(begin), rest = begin;
    for (size_t d = rank - 1; d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
    for (int64_t r = begin; r < end; ++r) {
      copy_row(out + r * columns, in + at, columns, column_stride);
      for (size_t d = rank - 1; d-- > 0;) {
        at += strides[d];
        if (++index[d] < dims[d]) break;
        at -= strides[d] * dims[d];
        index[d] = 0;
      }
    }
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
