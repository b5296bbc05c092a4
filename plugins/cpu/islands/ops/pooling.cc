// Pooling, channels last.
#include "device.h"
#include "isa/integer.h"
#include "islands/tasks.h"
#include "islands/window.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu::islands {
namespace {

class Pooling : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 3, 4)
        .that(n.output_count() < 2 || !n.has_output(1), TENON_REJECT_OTHER, "the output Indices is used");
  }
  Pooling(const NodeView& n, isa::Pool::Kind kind) : window_(n), kind_(kind) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    return window_output(x[0], x[1], window_.resolve(DimsView(x).subspan(2), window_.kernel, true));
  }
  void build(Builder& b, const Node& node) const override {
    const Tensor x = b.tensor(node.inputs[0], Form::kLast), y = b.create(node.outputs[0], Form::kLast);
    std::vector<WindowDim> dims = window_.resolve(DimsView(x.dims).subspan(2), window_.kernel, true);
    if (dims.size() == 1) dims.insert(dims.begin(), WindowDim());
    if (!x.is_float()) return add_greatest_bytes(b, x, y, {dims[0], dims[1]});
    isa::Pool p;
    p.kind = kind_, p.ldx = x.ld, p.ldy = y.ld, p.channels = x.dims[1];
    p.height = dims[0].in, p.width = dims[1].in, p.out_height = dims[0].out, p.out_width = dims[1].out;
    for (size_t i = 0; i < 2; ++i) {
      p.kernel[i] = dims[i].kernel, p.stride[i] = dims[i].stride, p.dilation[i] = dims[i].dilation;
      p.pad[i] = dims[i].pad_begin, p.pad_end[i] = dims[i].pad_end;
    }
    const int64_t cost = dims[1].out * p.channels * dims[0].kernel * dims[1].kernel / 8;
    b.add({x, y}, [=, lines = x.dims[0] * dims[0].out](const Run& run) {
      isa::Pool now = p;
      now.x = run.at(x), now.y = run.at(y);
      each_piece(run, lines, cost, [&](int64_t begin, int64_t end) { isa_compute().pool(now, begin, end); });
    });
  }

 private:
  /// The greatest bytes: those without sign have the order of what they stand for.
  static void add_greatest_bytes(Builder& b, const Tensor& x, const Tensor& y, const Window& w) {
    const int64_t images = x.dims[0], pixels = images * w.positions(), channels = x.dims[1], taps = w.taps();
    b.add({x, y}, [=, places = places_of(b, w, images)](const Run& run) {
      const WorkerLists<const uint8_t*> rows(run.ctx, taps);
      run.ctx.parallel_for(pixels, std::max<int64_t>(1, kGrain * 32 / (channels * taps)),
                           [&](uint32_t worker, int64_t begin, int64_t end) {
                             const uint8_t** const list = rows.of(worker).data();
                             for (int64_t i = begin; i < end; ++i) {
                               int64_t count = 0;
                               for (int64_t t = 0; t < taps; ++t) {
                                 const int32_t place = places == nullptr
                                                           ? static_cast<int32_t>(i)
                                                           : (*places)[static_cast<size_t>(i * taps + t)];
                                 if (place >= 0) list[count++] = run.bytes_at(x) + place * x.ld;
                               }
                               isa_integer().greatest(list, count, 0, channels, run.bytes_at(y) + i * y.ld);
                             }
                           });
    });
  }

  WindowAttributes window_;
  isa::Pool::Kind kind_;
};

struct MaxPool : Pooling {
  explicit MaxPool(const NodeView& n) : Pooling(n, isa::Pool::Kind::kMax) {}
};
struct AveragePool : Pooling {
  explicit AveragePool(const NodeView& n)
      : Pooling(n, n.attr_i("count_include_pad", 0) != 0 ? isa::Pool::Kind::kAverageWithPadding
                                                         : isa::Pool::Kind::kAverage) {}
};
CPU_ISLAND_OPERATOR(MaxPool, .op_type = "MaxPool", .bytes = true)
CPU_ISLAND_OPERATOR(AveragePool, .op_type = "AveragePool")

/// The mean of each channel over all pixels.
void add_means(Builder& b, const Node& node) {
  const Tensor x = b.tensor(node.inputs[0], Form::kLast), y = b.create(node.outputs[0], Form::kPlain);
  const int64_t images = x.dims[0], channels = x.dims[1], plane = x.rows() / images;
  constexpr int64_t kChannels = 64;
  const int64_t blocks = (channels + kChannels - 1) / kChannels;
  b.add({x, y}, [=](const Run& run) {
    const float* from = run.at(x);
    float* to = run.at(y);
    each_piece(run, images * blocks, plane * kChannels / 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / blocks, first = i % blocks * kChannels;
        isa_compute().column_means(from + image * plane * x.ld + first, x.ld, plane,
                                   std::min(kChannels, channels - first), to + image * channels + first);
      }
    });
  });
}

class GlobalAveragePool : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 3, 4);
  }
  explicit GlobalAveragePool(const NodeView&) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    Dims out = b.dims(node.inputs[0]);
    std::fill(out.begin() + 2, out.end(), 1);
    return out;
  }
  void build(Builder& b, const Node& node) const override { add_means(b, node); }
};
CPU_ISLAND_OPERATOR(GlobalAveragePool, .op_type = "GlobalAveragePool")

/// ReduceMean over the spatial axes.
class ReduceMean : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    ranked(check, n, 0, 3, 4)
        .that(!n.has_input(1) || n.input(1).is_constant(), TENON_REJECT_OTHER, "the axes are not constant");
    if (!check.ok()) return check;
    Dims axes = axes_of(n), wanted;
    for (int64_t& a : axes) a = a < 0 ? a + n.input(0).rank() : a;
    std::sort(axes.begin(), axes.end());
    for (int64_t i = 2; i < n.input(0).rank(); ++i) wanted.push_back(i);
    return check.that(axes == wanted, TENON_REJECT_ATTRIBUTE, "the axes are not the spatial ones");
  }
  explicit ReduceMean(const NodeView& n) : keeps_(n.attr_i("keepdims", 1) != 0) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    Dims out = b.dims(node.inputs[0]);
    if (keeps_) {
      std::fill(out.begin() + 2, out.end(), 1);
    } else {
      out.resize(2);
    }
    return out;
  }
  void build(Builder& b, const Node& node) const override { add_means(b, node); }

 private:
  static Dims axes_of(const NodeView& n) {
    return n.has_input(1) ? n.input(1).constant().to_dims() : n.attr_ints("axes");
  }
  bool keeps_;
};
CPU_ISLAND_OPERATOR(ReduceMean, .op_type = "ReduceMean")

}  // namespace
}  // namespace tenon::cpu::islands
