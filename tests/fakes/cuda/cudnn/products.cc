#include <cudnn_graph.h>

#include <algorithm>

#include "run.h"
#include "tests/fakes/cuda/library/product.h"

namespace fake_cudnn {
namespace {

using fake_cuda::rounded;
using fake_cuda::Rounding;

void round_all(Elements& elements, Rounding rounding) {
  if (rounding == Rounding::kNone) return;
  for (float& element : elements) element = rounded(element, rounding);
}

/// Depth, height and width; the missing ones are 1.
struct Spatial {
  int64_t size[3] = {1, 1, 1};
  Spatial(const int64_t* from, int32_t count) { std::copy_n(from, count, size + 3 - count); }
  int64_t count() const { return size[0] * size[1] * size[2]; }
};

/// A convolution with three spatial axes.
class Convolution {
 public:
  Convolution(const Node& node, const Tensor& x, const Tensor& w, const Tensor& y)
      : in_(x.dims + 2, node.spatial),
        window_(w.dims + 2, node.spatial),
        out_(y.dims + 2, node.spatial),
        stride_(node.stride, node.spatial),
        dilation_(node.dilation, node.spatial),
        channels_(w.dims[1]),
        filters_(w.dims[0]) {
    std::copy_n(node.pre, node.spatial, pre_ + 3 - node.spatial);
    flips_ = node.mode == CUDNN_CONVOLUTION;
    groups_ = x.dims[1] / channels_;
  }

  Elements run(int64_t images, const Elements& from, const Elements& filters) {
    Elements out(static_cast<size_t>(images * filters_ * out_.count()));
    const int64_t of_group = filters_ / groups_, depth = channels_ * window_.count();
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t g = 0; g < groups_; ++g) {
        const float* const x = from.data() + (n * groups_ + g) * channels_ * in_.count();
        const float* const w = filters.data() + g * of_group * depth;
        float* const y = out.data() + (n * filters_ + g * of_group) * out_.count();
        run_group(x, w, y, of_group, depth);
      }
    }
    return out;
  }

 private:
  void run_group(const float* x, const float* w, float* y, int64_t rows, int64_t depth) {
    fake_cuda::Product p{
        .rows = rows, .columns = out_.count(), .depth = depth, .load_a = {}, .load_b = {}, .store = {}};
    p.load_a = [=](double* to, int64_t stride, int64_t i0, int64_t count, int64_t k0, int64_t part) {
      for (int64_t k = 0; k < part; ++k) {
        for (int64_t i = 0; i < count; ++i) to[k * stride + i] = w[(i0 + i) * depth + k0 + k];
      }
    };
    p.load_b = [this, x](double* to, int64_t stride, int64_t j0, int64_t count, int64_t k0, int64_t part) {
      gather(x, to, stride, j0, count, k0, part);
    };
    p.store = [this, y](const double* sums, int64_t stride, int64_t i0, int64_t count, int64_t j0,
                        int64_t columns) {
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < columns; ++j)
          y[(i0 + i) * out_.count() + j0 + j] = static_cast<float>(sums[i * stride + j]);
      }
    };
    fake_cuda::multiply(p);
  }

  /// The elements under positions of the window, 0 in the padding.
  void gather(const float* x, double* to, int64_t stride, int64_t j0, int64_t count, int64_t k0,
              int64_t part) const {
    int64_t corner[fake_cuda::kMostColumns][3];  // of the window's place, for each column
    for (int64_t j = 0; j < count; ++j) {
      int64_t rest = j0 + j;
      for (int d = 2; d >= 0; --d) {
        corner[j][d] = rest % out_.size[d] * stride_.size[d] - pre_[d];
        rest /= out_.size[d];
      }
    }
    for (int64_t k = 0; k < part; ++k) {
      int64_t rest = k0 + k, step[3];
      for (int d = 2; d >= 0; --d) {
        const int64_t at = rest % window_.size[d];
        step[d] = (flips_ ? window_.size[d] - 1 - at : at) * dilation_.size[d];
        rest /= window_.size[d];
      }
      const float* const channel = x + rest * in_.count();
      for (int64_t j = 0; j < count; ++j) {
        const int64_t a = corner[j][0] + step[0], b = corner[j][1] + step[1], c = corner[j][2] + step[2];
        const bool is_inside =
            a >= 0 && a < in_.size[0] && b >= 0 && b < in_.size[1] && c >= 0 && c < in_.size[2];
        to[k * stride + j] = is_inside ? channel[(a * in_.size[1] + b) * in_.size[2] + c] : 0;
      }
    }
  }

  Spatial in_, window_, out_, stride_, dilation_;
  int64_t pre_[3] = {0, 0, 0};
  int64_t channels_, filters_, groups_ = 1;
  bool flips_ = false;
};

}  // namespace

Elements convolve(const Node& node, const Tensor& x, const Elements& from, const Tensor& w,
                  const Elements& filters, const Tensor& y, Rounding rounding) {
  if (rounding == Rounding::kNone) return Convolution(node, x, w, y).run(x.dims[0], from, filters);
  Elements left = from, right = filters;
  round_all(left, rounding);
  round_all(right, rounding);
  return Convolution(node, x, w, y).run(x.dims[0], left, right);
}

Elements multiply(const Tensor& a, const Elements& left, const Tensor& b, const Elements& right,
                  const Tensor& c, Rounding rounding) {
  const int64_t rows = c.dims[c.rank - 2], columns = c.dims[c.rank - 1], depth = a.dims[a.rank - 1];
  Elements x = left, y = right, out(static_cast<size_t>(c.elements()));
  round_all(x, rounding);
  round_all(y, rounding);
  // Batches are broadcast as other axes are; those of the operands divide those of the result.
  const auto batch_of = [&](const Tensor& t, int64_t batch) {
    int64_t at = 0, step = 1;
    for (int32_t d = c.rank - 3; d >= 0; --d) {
      at += batch % c.dims[d] % t.dims[d] * step;
      batch /= c.dims[d];
      step *= t.dims[d];
    }
    return at;
  };
  for (int64_t n = 0; n < c.elements() / (rows * columns); ++n) {
    const float* const from_a = x.data() + batch_of(a, n) * rows * depth;
    const float* const from_b = y.data() + batch_of(b, n) * depth * columns;
    float* const to_c = out.data() + n * rows * columns;
    fake_cuda::Product p{
        .rows = rows, .columns = columns, .depth = depth, .load_a = {}, .load_b = {}, .store = {}};
    p.load_a = [=](double* to, int64_t stride, int64_t i0, int64_t count, int64_t k0, int64_t part) {
      for (int64_t k = 0; k < part; ++k) {
        for (int64_t i = 0; i < count; ++i) to[k * stride + i] = from_a[(i0 + i) * depth + k0 + k];
      }
    };
    p.load_b = [=](double* to, int64_t stride, int64_t j0, int64_t count, int64_t k0, int64_t part) {
      for (int64_t k = 0; k < part; ++k) {
        for (int64_t j = 0; j < count; ++j) to[k * stride + j] = from_b[(k0 + k) * columns + j0 + j];
      }
    };
    p.store = [=](const double* sums, int64_t stride, int64_t i0, int64_t count, int64_t j0, int64_t part) {
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < part; ++j)
          to_c[(i0 + i) * columns + j0 + j] = static_cast<float>(sums[i * stride + j]);
      }
    };
    fake_cuda::multiply(p);
  }
  return out;
}

}  // namespace fake_cudnn
