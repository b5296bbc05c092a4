#include "kernels/common/checked.h"
#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

// Before opset 4 the axis was optional, by default 1.
struct Concat {
  explicit Concat(const NodeView& n)
      : axis_(n.since_version() < 4 ? n.attr_i("axis", 1) : n.attr_i("axis")) {}

  void prepare(PrepareContext& p) const {
    Dims out(p.input(0).dims().begin(), p.input(0).dims().end());
    const int axis = normalize_axis(axis_, static_cast<int>(out.size()));
    for (int i = 1; i < p.input_count(); ++i) {
      const DimsView dims = p.input(i).dims();
      for (size_t d = 0; d < out.size(); ++d) {
        if (d == static_cast<size_t>(axis)) continue;
        require(dims[d] == out[d], TENON_INVALID_ARGUMENT, "input ", i, " has shape ", dims,
                ", the first differs in dim ", d);
      }
      int64_t& sum = out[static_cast<size_t>(axis)];
      sum = checked_add(sum, dims[static_cast<size_t>(axis)], "the output");
    }
    p.set_output(0, out);
  }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    const int axis = normalize_axis(axis_, out.rank());
    const int64_t outer = count_between(out.dims(), 0, axis);
    const uint32_t type = ctx.input(0).dtype();
    if (type != TENON_STRING && dtype_bits(type) >= 8) return copy_parts(ctx, outer);
    BlockWriter writer(ctx, 0, out.dims(), type);
    for (int64_t o = 0; o < outer; ++o) {
      for (int i = 0; i < ctx.input_count(); ++i) {
        const TensorView in = ctx.input(i);
        const int64_t block = count_between(in.dims(), axis, in.rank());
        writer.append(in, o * block, block);
      }
    }
    writer.finish();
  }

 private:
  /// The block of an input in each row; a row is what follows one index of the dims before the axis.
  struct Part {
    const char* data;
    int64_t bytes;
  };

  static void copy(char* to, const char* from, int64_t n) {
    // Blocks of one or two elements are common, and cost less than a call.
    if (n == 4) {
      std::memcpy(to, from, 4);
    } else if (n == 8) {
      std::memcpy(to, from, 8);
    } else if (n > 0) {  // an empty input may have no data
      std::memcpy(to, from, static_cast<size_t>(n));
    }
  }

  /// Writes the output's bytes in pieces, in parallel.
  static void copy_parts(const Context& ctx, int64_t outer) {
    constexpr int64_t kPiece = 1 << 16;
    const int count = ctx.input_count();
    Part* parts = ctx.scratch<Part>(count);
    int64_t row = 0;
    for (int i = 0; i < count; ++i) {
      const TensorView in = ctx.input(i);
      parts[i] = {in.data<char>(), outer == 0 ? 0 : in.byte_size() / outer};
      row += parts[i].bytes;
    }
    if (row == 0) return;
    char* out = ctx.output(0).data<char>();
    ctx.parallel_for((outer * row + kPiece - 1) / kPiece, 1, [&](int64_t begin, int64_t end) {
      int64_t at = begin * kPiece;
      const int64_t last = std::min(end * kPiece, outer * row);
      int64_t index = at / row, offset = at % row;
      int i = 0;
      for (; offset >= parts[i].bytes; ++i) offset -= parts[i].bytes;
      while (at < last) {
        const int64_t n = std::min(parts[i].bytes - offset, last - at);
        copy(out + at, parts[i].data + index * parts[i].bytes + offset, n);
        at += n;
        offset = 0;
        if (++i == count) i = 0, ++index;
      }
    });
  }

  int64_t axis_;
};
TENON_KERNEL(Concat, .op_type = "Concat", .contract = "first: rank 1..; others...: rank first")

}  // namespace
}  // namespace tenon::cpu
