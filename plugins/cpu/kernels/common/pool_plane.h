// Pooling of float32 and of bytes over one or two spatial dims, by the loops of the instruction set.
#pragma once

#include "device.h"
#include "isa/integer.h"
#include "isa/pool.h"
#include "kernels/common/pool.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {

/// The windows of MaxPool or AveragePool for one shape: as planes where the loops have a form for them, else all
/// listed or walked.
class PlaneWindows {
 public:
  PlaneWindows() = default;  // for an output without elements
  /// `use_planes`: the elements are float32 or bytes, and nothing but output 0 is asked for. `by_covered`: taps in the
  /// padding count for the mean.
  PlaneWindows(const PrepareContext& p, const std::vector<WindowDim>& dims, bool use_planes,
               bool by_covered) {
    if (!use_planes || !fits(dims)) {
      windows_ = PoolWindows(p, dims);
      return;
    }
    const WindowDim one;
    const WindowDim &rows = dims.size() == 2 ? dims[0] : one, &columns = dims.back();
    plane_.in_rows = rows.in, plane_.in_columns = columns.in;
    plane_.out_rows = rows.out, plane_.out_columns = columns.out;
    plane_.row_step = rows.dilation;
    plane_.kernel_columns = columns.kernel, plane_.column_stride = columns.stride;
    plane_.pad_left = columns.pad_begin;
    plane_.line = plane_.needed();
    p.require_memory(static_cast<uint64_t>(rows.out + columns.out) * 3 * sizeof(float),
                     "the tables of the windows");
    const auto taps_of = [](const WindowDim& w, int64_t o) {
      return std::max(w.last_tap(o) - w.first_tap(o), int64_t{0});
    };
    const auto weight_of = [&](const WindowDim& w, int64_t o) {
      return static_cast<float>(std::max<int64_t>(1, by_covered ? w.covered_taps(o) : taps_of(w, o)));
    };
    for (int64_t o = 0; o < rows.out; ++o) {
      const int64_t taps = taps_of(rows, o);
      first_row_.push_back(taps > 0 ? static_cast<int32_t>(rows.start(o) + rows.first_tap(o) * rows.dilation)
                                    : 0);
      row_taps_.push_back(static_cast<int32_t>(taps));
      row_weight_.push_back(weight_of(rows, o));
    }
    for (int64_t o = 0; o < columns.out; ++o) column_weight_.push_back(weight_of(columns, o));
    column_weight_.resize(column_weight_.size() + kMargin, 1.0f);
  }

  bool has_planes() const { return !first_row_.empty(); }
  const PoolWindows& windows() const { return windows_; }

  /// Pools every (batch, channel) of input 0 to output 0. Bytes become floats, which hold them exactly, and the results
  /// bytes again.
  void run(const Context& ctx, isa::PlanePool isa::Pools::*pool) const {
    isa::PoolPlane plane = plane_;
    plane.first_row = first_row_.data();
    plane.row_taps = row_taps_.data();
    plane.row_weight = row_weight_.data();
    plane.column_weight = column_weight_.data();
    const int64_t planes = ctx.input(0).dim(0) * ctx.input(0).dim(1);
    const int64_t in_size = plane.in_rows * plane.in_columns, out_size = plane.out_rows * plane.out_columns;
    const bool has_bytes = ctx.input(0).dtype() != TENON_FLOAT32;
    const float* x = has_bytes ? nullptr : ctx.input(0).data<float>();
    float* y = has_bytes ? nullptr : ctx.output(0).data<float>();
    const WorkerLists<float> lines(ctx, plane.line + (has_bytes ? in_size + out_size : 0));
    const isa::PlanePool loop = isa_table().pool->*pool;
    const int64_t work = in_size + out_size * plane.kernel_columns / 8 + plane.line;
    ctx.parallel_for(planes, std::max<int64_t>(1, kGrainCheap / work),
                     [&](uint32_t worker, int64_t begin, int64_t end) {
                       for (int64_t p = begin; p < end; ++p) {
                         ctx.check_cancelled();
                         float* const line = lines.of(worker).data();
                         if (has_bytes) {
                           float* const in = line + plane.line;
                           read_bytes(ctx.input(0), p * in_size, in_size, in);
                           loop(plane, in, line, in + in_size);
                           write_bytes(in + in_size, ctx.output(0), p * out_size, out_size);
                         } else {
                           loop(plane, x + p * in_size, line, y + p * out_size);
                         }
                       }
                     });
  }

 private:
  static constexpr int64_t kMargin = 64;  // floats that a loop may read beyond a row

  static void read_bytes(TensorView from, int64_t at, int64_t n, float* to) {
    if (from.dtype() == TENON_INT8)
      isa_integer().dequantize_s8(from.data<int8_t>() + at, n, 1, 0, to);
    else
      isa_integer().dequantize_u8(from.data<uint8_t>() + at, n, 1, 0, to);
  }
  static void write_bytes(const float* from, const OutputTensor& to, int64_t at, int64_t n) {
    const isa::Rounding range =
        to.dtype() == TENON_INT8 ? isa::Rounding{0, -128, 127} : isa::Rounding{0, 0, 255};
    isa_integer().quantize_8(from, n, 1, range, static_cast<uint8_t*>(to.bytes()) + at);
  }

  static bool fits(const std::vector<WindowDim>& dims) {
    constexpr int64_t kMost = 1 << 16, kMostStride = 1 << 10;  // the lines stay in the caches
    if (dims.size() > 2 || dims.back().dilation != 1) return false;
    for (const WindowDim& w : dims)
      if (w.in <= 0 || w.in > kMost || w.out > kMost || w.kernel > kMost || w.stride > kMostStride ||
          w.dilation > kMost || w.pad_begin > kMost)
        return false;
    const WindowDim& columns = dims.back();
    return columns.out * columns.stride <= kMost;
  }

  PoolWindows windows_;
  isa::PoolPlane plane_{};
  std::vector<int32_t> first_row_, row_taps_;
  std::vector<float> row_weight_, column_weight_;
};

}  // namespace tenon::cpu
