#include "islands/tasks.h"

#include "device.h"

namespace tenon::cpu::islands {

Dims broadcast_dims(DimsView a, DimsView b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    require(x == y || x == 1 || y == 1, TENON_INVALID_ARGUMENT, "shapes ", a, " and ", b,
            " do not broadcast");
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

void add_copy(Builder& b, const Tensor& from, const Tensor& to) { add_steps(b, from, to, Steps{}); }

void add_steps(Builder& b, const Tensor& from, const Tensor& to, const Steps& steps) {
  int64_t rows = to.rows(), columns = to.columns(), from_ld = from.ld, to_ld = to.ld;
  bool flat = from.is_dense() && to.is_dense();
  for (size_t i = 0; i < steps.steps.size(); ++i) {
    const Step& s = steps.steps[i];
    if (steps.operands[i].buffer != kNone)
      flat = flat && ((s.scalar && s.ld == 0) || (s.ld == columns && s.group == 1));
  }
  if (flat) columns *= rows, rows = 1, from_ld = to_ld = columns;
  const bool by_rows = rows > 1;
  const int64_t cost = (by_rows ? columns : 1) * (1 + static_cast<int64_t>(steps.steps.size()));
  b.add(steps.reads({from, to}), [=](const Run& run) {
    std::array<Step, isa::kMostSteps> room;
    const isa::Chain chain = steps.at(run, room);
    const float* x = run.at(from);
    float* y = run.at(to);
    each_piece(run, by_rows ? rows : columns, cost, [&](int64_t begin, int64_t end) {
      if (by_rows) {
        isa_compute().chain(chain, x + begin * from_ld, from_ld, y + begin * to_ld, to_ld, begin, end - begin,
                            0, columns);
      } else {
        isa_compute().chain(chain, x + begin, from_ld, y + begin, to_ld, 0, 1, begin, end - begin);
      }
    });
  });
}

void add_conversion(Builder& b, const Tensor& from, const Tensor& to) {
  const int64_t images = from.dims[0], channels = from.dims[1], plane = from.elements() / (images * channels);
  const bool to_last = to.form == Form::kLast;
  // Plain rows are parts of planes, so a plain tensor with gaps would need a stride per plane. Nothing makes one.
  require((to_last ? from : to).is_dense(), TENON_INTERNAL, "a plain image has gaps");
  const int64_t last_ld = to_last ? to.ld : from.ld;
  constexpr int64_t kPixels = 64;
  const int64_t blocks = (plane + kPixels - 1) / kPixels;
  b.add({from, to}, [=](const Run& run) {
    const float* x = run.at(from);
    float* y = run.at(to);
    each_piece(run, images * blocks, kPixels * channels, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / blocks, first = i % blocks * kPixels,
                      pixels = std::min(kPixels, plane - first);
        const int64_t plain_at = image * channels * plane + first,
                      last_at = (image * plane + first) * last_ld;
        if (to_last) {
          transpose(x + plain_at, plane, channels, pixels, y + last_at, last_ld);
        } else {
          transpose(x + last_at, last_ld, pixels, channels, y + plain_at, plane);
        }
      }
    });
  });
}

void add_expansion(Builder& b, const Tensor& from, const Tensor& to) {
  const Dims out = to.dims;
  Dims given = from.dims;
  given.insert(given.begin(), out.size() - given.size(), 1);
  Dims strides(out.size(), 0);
  int64_t step = 1;
  for (size_t i = out.size(); i-- > 0;) {
    if (given[i] != 1) strides[i] = step;
    step *= given[i];
  }
  const int64_t line = out.empty() ? 1 : out.back(), lines = line == 0 ? 0 : to.elements() / line;
  b.add({from, to}, [=](const Run& run) {
    const float* x = run.at(from);
    float* y = run.at(to);
    each_piece(run, lines, line, [&](int64_t begin, int64_t end) {
      for (int64_t l = begin; l < end; ++l) {
        int64_t at = 0, rest = l;
        for (size_t i = out.size(); i-- > 1;) {
          at += rest % out[i - 1] * strides[i - 1];
          rest /= out[i - 1];
        }
        const int64_t stride = out.empty() ? 0 : strides.back();
        for (int64_t j = 0; j < line; ++j) y[l * line + j] = x[at + j * stride];
      }
    });
  });
}

}  // namespace tenon::cpu::islands
