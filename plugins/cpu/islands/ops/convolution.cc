// Convolutions, channels last. With one channel per group: depthwise. Otherwise a product per group: its rows are pixels, and the
// factors of a row are the pixels under the kernel.
#include "islands/product.h"
#include "islands/window.h"

namespace tenon::cpu::islands {
namespace {

/// The transforms make errors of their own, so sums are kept more exact than elsewhere.
constexpr int64_t kWinogradPart = 64;

/// Elements that stay in the second-level cache beside a panel of weights.
constexpr int64_t kNearElements = 1 << 17;

class Conv : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    return ranked(check, n, 0, 3, 4)
        .that(n.input(1).is_constant() && ep::element_count(n.input(1).dims()) != 0, TENON_REJECT_OTHER,
              "the weights are not constant, or empty")
        .that(!n.has_input(2) || n.input(2).is_constant(), TENON_REJECT_OTHER, "the bias is not constant");
  }
  explicit Conv(const NodeView& n)
      : window_(n),
        groups_(n.attr_i("group", 1)),
        winograd_(groups_ == 1 && !n.instance().strict ? winograd_side(n, window_) : 0) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[1]);
    require(x.size() == w.size(), TENON_INVALID_ARGUMENT, "X has ", x.size(), " axes, and W has ", w.size());
    require(w[0] % groups_ == 0, TENON_INVALID_ARGUMENT, w[0], " output channels in ", groups_, " groups");
    return window_output(x[0], w[0], window_.resolve(DimsView(x).subspan(2), DimsView(w).subspan(2)));
  }

  void pack(Program& program, const Node& node) override {
    const ep::TensorView w = program.constant(node.inputs[1]);
    channels_ = w.dim(1), filters_ = w.dim(0), taps_ = 1;
    for (int i = 2; i < w.rank(); ++i) taps_ *= w.dim(i);
    if (groups_ <= 0 || filters_ % groups_ != 0) return;  // shape() tells it
    depthwise_ = channels_ == 1 && filters_ == groups_ && w.rank() <= 4;
    const float* bias = node.inputs.size() > 2 && node.inputs[2] != kNone
                            ? program.constant(node.inputs[2]).data<float>()
                            : nullptr;
    const int64_t each = filters_ / groups_;
    if (depthwise_) {
      auto turned = std::make_shared<Packed>(taps_ * filters_);
      transpose(w.data<float>(), taps_, filters_, taps_, turned->data(), filters_);
      weights_ = shared(std::move(turned));
      bias_ = padded(bias, filters_, filters_);
      return;
    }
    if (winograd_ != 0) return pack_winograd(w.data<float>(), bias);
    // A tap's input channels lie together.
    const int64_t size = isa_compute().packed_size(taps_ * channels_, each),
                  padded_bias = padded_columns(each);
    auto packed = std::make_shared<Packed>(size * groups_);
    auto biases = bias == nullptr ? nullptr : std::make_shared<Packed>(padded_bias * groups_);
    float* const turned = program.scratch(each * taps_ * channels_);
    for (int64_t g = 0; g < groups_; ++g) {
      const float* from = w.data<float>() + g * each * channels_ * taps_;
      for (int64_t f = 0; f < each; ++f)
        transpose(from + f * channels_ * taps_, taps_, channels_, taps_, turned + f * channels_ * taps_,
                  channels_);
      isa_compute().pack({turned, taps_ * channels_, each, 1, taps_ * channels_}, packed->data() + g * size);
      if (bias != nullptr)
        std::copy_n(padded(bias + g * each, each, padded_bias)->data(), padded_bias,
                    biases->data() + g * padded_bias);
    }
    weights_ = shared(std::move(packed));
    bias_ = std::move(biases);
  }

  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr && given_ == nullptr;
  }
  void build(Builder& b, const Node& node) const override {
    require(weights_ != nullptr, TENON_INTERNAL, "the weights were not packed");
    const Window window = Window::of(window_, b.dims(node.inputs[0]), b.dims(node.inputs[1]));
    const Tensor x = b.tensor(node.inputs[0], Form::kLast);
    if (depthwise_) return build_depthwise(b, node, window, x);
    if (winograd_ != 0) return build_winograd(b, node, window, x);
    build_product(b, node, window, x);
  }

 private:
  /// The side of the tiles by which Winograd's filtering saves more than its transforms cost; 0: none does. It takes pixels enough for
  /// the larger weights, and channels enough. Layers with few filters are those of large images near a network's ends, whose errors
  /// nothing evens out, so they get the smaller tiles. Depends on shapes alone, so that a model gives the same bits in every process.
  static int64_t winograd_side(const NodeView& n, const WindowAttributes& window) {
    if (!n.input(1).is_constant() || !n.input(0).has_rank() || n.input(0).rank() != 4) return 0;
    const DimsView x = n.input(0).dims(), w = n.input(1).dims();
    if (w.size() != 4 || w[2] != 3 || w[3] != 3 || w[0] < 16 || w[1] < 16 || x[2] < 0 || x[3] < 0) return 0;
    try {
      const std::vector<WindowDim> dims = window.resolve(x.subspan(2), w.subspan(2));
      const auto plain = [](const WindowDim& d) { return d.stride == 1 && d.dilation == 1 && d.out >= 10; };
      if (!plain(dims[0]) || !plain(dims[1])) return 0;
      return w[0] < 48 ? 2 : 4;
    } catch (const ep::Error&) {
      return 0;  // shape() tells it for the shapes of a Run
    }
  }

  void pack_winograd(const float* w, const float* bias) {
    auto packed = std::make_shared<Packed>(isa_compute().packed_size(channels_, filters_) *
                                           isa::Winograd::matrices(winograd_));
    isa_compute().winograd_pack(winograd_, w, channels_, filters_, packed->data());
    weights_ = shared(std::move(packed));
    bias_ = padded(bias, filters_, padded_columns(filters_));
    given_ = w;
  }

  void build_winograd(Builder& b, const Node& node, const Window& window, const Tensor& x) const {
    const Steps steps = b.follow(node.outputs[0], Form::kLast);
    const Tensor y = b.create(steps.value, Form::kLast);
    isa::Winograd w;
    w.side = winograd_;
    w.ldx = x.ld, w.ldy = y.ld, w.channels = channels_, w.filters = filters_;
    w.height = window.rows.in, w.width = window.columns.in;
    w.out_height = window.rows.out, w.out_width = window.columns.out;
    w.pad[0] = window.rows.pad_begin, w.pad[1] = window.columns.pad_begin;
    w.given = given_;
    w.bias = bias_ == nullptr ? nullptr : bias_->data();
    const int64_t matrices = isa::Winograd::matrices(w.side);
    const int64_t tiles =
        x.dims[0] * ((w.out_height + w.side - 1) / w.side) * ((w.out_width + w.side - 1) / w.side);
    // The transformed tiles of a block stay in a cache. Where the weights do not, blocks are larger, since each block reads them all.
    const int64_t per_tile = matrices * (channels_ + filters_),
                  weight_count = matrices * channels_ * filters_;
    const int64_t room = std::max<int64_t>(kNearElements, weight_count / 2);
    const int64_t most = std::max(isa_compute().rows, room / per_tile), blocks = (tiles + most - 1) / most,
                  block = (tiles + blocks - 1) / blocks;
    const Tensor v = b.temporary({matrices, isa::Winograd::distance(block, channels_)}, Form::kPlain),
                 m = b.temporary({matrices, isa::Winograd::distance(block, filters_)}, Form::kPlain);
    const int64_t size = isa_compute().packed_size(channels_, filters_),
                  panels = isa_compute().panels(filters_);
    b.add(steps.reads({x, y, v, m}), [=, weights = weights_](const Run& run) {
      std::array<Step, isa::kMostSteps> room_for_steps;
      isa::Winograd now = w;
      now.x = run.at(x), now.y = run.at(y), now.chain = steps.at(run, room_for_steps);
      for (int64_t first = 0; first < tiles; first += block) {
        run.ctx.check_cancelled();
        const int64_t count = std::min(block, tiles - first);
        each_piece(run, count, matrices * w.channels / 8, [&](int64_t begin, int64_t end) {
          isa_compute().winograd_spread(now, first, begin, end, count, run.at(v));
        });
        each_piece(run, matrices, count * w.channels * w.filters / 16, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            isa::Product p;
            p.a = run.at(v) + i * isa::Winograd::distance(count, w.channels), p.lda = p.k = w.channels,
            p.n = w.filters;
            p.b = weights->data() + i * size;
            p.part = kWinogradPart;
            p.c = run.at(m) + i * isa::Winograd::distance(count, w.filters), p.ldc = w.filters;
            isa_compute().product(p, 0, count, 0, panels);
          }
        });
        each_piece(run, count, matrices * w.filters / 8, [&](int64_t begin, int64_t end) {
          isa_compute().winograd_gather(now, first, begin, end, count, run.at(m));
        });
      }
    });
  }

  void build_depthwise(Builder& b, const Node& node, const Window& w, const Tensor& x) const {
    const Steps steps = b.follow(node.outputs[0], Form::kLast);
    const Tensor y = b.create(steps.value, Form::kLast);
    isa::Depthwise d;
    d.ldx = x.ld, d.ldy = y.ld;
    d.channels = filters_;
    d.height = w.rows.in, d.width = w.columns.in, d.out_height = w.rows.out, d.out_width = w.columns.out;
    const WindowDim* axes[2] = {&w.rows, &w.columns};
    for (int i = 0; i < 2; ++i) {
      d.kernel[i] = axes[i]->kernel, d.stride[i] = axes[i]->stride;
      d.pad[i] = axes[i]->pad_begin, d.dilation[i] = axes[i]->dilation;
    }
    d.weights = weights_->data();
    d.bias = bias_ == nullptr ? nullptr : bias_->data();
    const int64_t lines = x.dims[0] * w.rows.out;
    const int64_t cost = w.columns.out * filters_ * taps_ / 8;
    b.add(steps.reads({x, y}), [=](const Run& run) {
      std::array<Step, isa::kMostSteps> room;
      isa::Depthwise now = d;
      now.x = run.at(x), now.y = run.at(y), now.chain = steps.at(run, room);
      each_piece(run, lines, cost,
                 [&](int64_t begin, int64_t end) { isa_compute().depthwise(now, begin, end); });
    });
  }

  void build_product(Builder& b, const Node& node, const Window& w, const Tensor& x) const {
    Factors f;
    f.x = x;
    f.rows = x.dims[0] * w.rows.out * w.columns.out;
    f.taps = taps_, f.k = channels_, f.n = filters_ / groups_, f.groups = groups_;
    f.weights = weights_, f.bias = bias_;
    f.places = places_of(b, w, x.dims[0]);
    add_product(b, f, node.outputs[0], Form::kLast);
  }

  WindowAttributes window_;
  int64_t groups_;
  int64_t channels_ = 0, filters_ = 0, taps_ = 1;
  int64_t winograd_;  // side of the tiles of Winograd's filtering; 0: without it
  bool depthwise_ = false;
  const float* given_ = nullptr;  // the weights as the model has them
  std::shared_ptr<const Packed> weights_, bias_;
};
CPU_ISLAND_OPERATOR(Conv, .op_type = "Conv", .gains = true)

}  // namespace
}  // namespace tenon::cpu::islands
