#include "islands/tasks.h"

#include "device.h"
#include "isa/integer.h"

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

namespace {

/// Which bits differ between both forms of a byte.
uint8_t toggle_between(const Tensor& from, const Tensor& to) { return from.element == to.element ? 0 : 0x80; }

void add_copy_of_bytes(Builder& b, const Tensor& from, const Tensor& to) {
  const uint8_t toggle = toggle_between(from, to);
  const bool flat = from.is_dense() && to.is_dense();
  const int64_t columns = flat ? to.elements() : to.columns(), rows = flat ? 1 : to.rows();
  b.add({from, to}, [=](const Run& run) {
    const uint8_t* x = run.bytes_at(from);
    uint8_t* y = run.bytes_at(to);
    each_piece(run, flat ? columns : rows, flat ? 1 : columns, [&](int64_t begin, int64_t end) {
      if (flat) return isa_integer().copy(x + begin, end - begin, toggle, y + begin);
      for (int64_t r = begin; r < end; ++r)
        isa_integer().copy(x + r * from.ld, columns, toggle, y + r * to.ld);
    });
  });
}

/// Steps that read or write bytes: parts of rows go through floats.
class ByteSteps {
 public:
  ByteSteps(const Tensor& from, const Tensor& to, const Steps& steps)
      : from_(from), to_(to), steps_(steps), columns_(to.columns()), rows_(to.rows()) {
    bool flat = from.is_dense() && to.is_dense();
    for (size_t i = 0; i < steps.steps.size(); ++i) {
      const Step& s = steps.steps[i];
      if (steps.operands[i].buffer != kNone)
        flat = flat && ((s.scalar && s.ld == 0) || (s.ld == columns_ && s.group == 1));
    }
    if (flat) {
      columns_ = std::min<int64_t>(kPart, to.elements());
      rows_ = (to.elements() + columns_ - 1) / columns_;
      flat_ = to.elements();
    }
    adds_ = !from.is_float() && !to.is_float() && !steps.steps.empty() && steps.steps.size() <= 2 &&
            steps.steps[0].kind == Step::Kind::kAdd && !steps.steps[0].scalar &&
            steps.operands[0].buffer != kNone && !steps.operands[0].is_float() &&
            (steps.steps.size() == 1 || is_relu(steps.steps[1]));
  }

  int64_t rows() const { return rows_; }
  int64_t cost() const { return columns_ * (2 + static_cast<int64_t>(steps_.steps.size())); }

  void run(const Run& run, int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t columns = flat_ < 0 ? columns_ : std::min(columns_, flat_ - row * columns_);
      for (int64_t first = 0; first < columns; first += kPart)
        part(run, row, first, std::min(kPart, columns - first));
    }
  }

 private:
  static constexpr int64_t kPart = 512;

  int64_t at(int64_t ld, int64_t row, int64_t column) const {
    return flat_ < 0 ? row * ld + column : row * columns_ + column;
  }
  static isa::Rounding rounding(const Scaling& s) { return {s.zero, 0, 255}; }

  void part(const Run& run, int64_t row, int64_t column, int64_t n) const {
    const int64_t x_at = at(from_.ld, row, column), y_at = at(to_.ld, row, column);
    if (adds_) return add(run, row, column, n);
    float x[kPart], others[isa::kMostSteps][kPart];
    if (from_.is_float()) {
      std::copy_n(run.at(from_) + x_at, n, x);
    } else {
      isa_integer().dequantize_u8(run.bytes_at(from_) + x_at, n, from_.scaling.scale, from_.scaling.zero, x);
    }
    std::array<Step, isa::kMostSteps> room;
    for (size_t i = 0; i < steps_.steps.size(); ++i) {
      Step& s = room[i] = steps_.steps[i];
      const Tensor& operand = steps_.operands[i];
      if (operand.buffer == kNone) continue;
      if (operand.is_float()) {
        s.other = run.at(operand) +
                  (s.scalar ? (s.ld == 0 ? 0 : row / s.group * s.ld) : at(s.ld, row / s.group, column));
      } else {
        isa_integer().dequantize_u8(run.bytes_at(operand) + at(s.ld, row, column), n, operand.scaling.scale,
                                    operand.scaling.zero, others[i]);
        s.other = others[i];
      }
      s.ld = 0, s.group = 1;
    }
    float* y = to_.is_float() ? run.at(to_) + y_at : x;
    isa_compute().chain({room.data(), static_cast<int>(steps_.steps.size())}, x, n, y, n, 0, 1, 0, n);
    if (!to_.is_float())
      isa_integer().quantize_8(y, n, to_.scaling.scale, rounding(to_.scaling), run.bytes_at(to_) + y_at);
  }

  /// The sum of two tensors of bytes, as in residual networks.
  void add(const Run& run, int64_t row, int64_t column, int64_t n) const {
    const Tensor& other = steps_.operands[0];
    const isa::QuantizedSum sum =
        quantised_sum(from_.scaling, other.scaling, to_.scaling, steps_.steps.size() == 2);
    isa_integer().add_quantized(run.bytes_at(from_) + at(from_.ld, row, column),
                                run.bytes_at(other) + at(steps_.steps[0].ld, row, column), n, sum,
                                run.bytes_at(to_) + at(to_.ld, row, column));
  }

  Tensor from_, to_;
  Steps steps_;
  int64_t columns_, rows_;
  int64_t flat_ = -1;  // if not negative: all elements, cut into rows of our own
  bool adds_ = false;
};

}  // namespace

isa::QuantizedSum quantised_sum(const Scaling& a, const Scaling& b, const Scaling& result, bool relu) {
  isa::QuantizedSum out;
  out.a_scale = a.scale, out.a_zero = a.zero, out.b_scale = b.scale, out.b_zero = b.zero;
  out.scale = result.scale;
  out.least = relu ? 0 : -std::numeric_limits<float>::infinity();
  out.to = {result.zero, 0, 255};
  return out;
}

void add_copy(Builder& b, const Tensor& from, const Tensor& to) {
  if (!from.is_float()) return add_copy_of_bytes(b, from, to);
  add_steps(b, from, to, Steps{});
}

void add_steps(Builder& b, const Tensor& from, const Tensor& to, const Steps& steps) {
  bool floats = from.is_float() && to.is_float();
  for (const Tensor& t : steps.operands) floats = floats && t.is_float();
  if (!floats) {
    b.add(steps.reads({from, to}), [work = ByteSteps(from, to, steps)](const Run& run) {
      each_piece(run, work.rows(), work.cost(),
                 [&](int64_t begin, int64_t end) { work.run(run, begin, end); });
    });
    return;
  }
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
  const uint8_t toggle = toggle_between(from, to);
  b.add({from, to}, [=](const Run& run) {
    each_piece(run, images * blocks, kPixels * channels, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / blocks, first = i % blocks * kPixels,
                      pixels = std::min(kPixels, plane - first);
        const int64_t plain_at = image * channels * plane + first,
                      last_at = (image * plane + first) * last_ld;
        const int64_t x_at = to_last ? plain_at : last_at, y_at = to_last ? last_at : plain_at;
        const int64_t ldx = to_last ? plane : last_ld, ldy = to_last ? last_ld : plane;
        const int64_t rows = to_last ? channels : pixels, columns = to_last ? pixels : channels;
        if (from.is_float()) {
          transpose(run.at(from) + x_at, ldx, rows, columns, run.at(to) + y_at, ldy);
        } else {
          isa_integer().transpose(run.bytes_at(from) + x_at, ldx, rows, columns, toggle,
                                  run.bytes_at(to) + y_at, ldy);
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
