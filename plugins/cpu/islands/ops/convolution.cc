// Convolutions, channels last. With one channel per group: depthwise. Otherwise a product per group: its rows are pixels, and the
// factors of a row are the pixels under the kernel.
#include <atomic>
#include <mutex>

#include "islands/bands.h"
#include "islands/window.h"

namespace tenon::cpu::islands {
namespace {

/// The transforms make errors of their own, so sums are kept more exact than elsewhere.
constexpr int64_t kWinogradPart = 64;

/// With more channels, a tap is long enough by itself.
constexpr int64_t kFewChannels = 16;

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
        tiles_(groups_ == 1 && !n.instance().strict ? tiles_for(n, window_, &side_) : Tiles::kNone) {}

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
    const float* bias = node.inputs.size() > 2 && node.inputs[2] != kNone
                            ? program.constant(node.inputs[2]).data<float>()
                            : nullptr;
    const float* const given = w.data<float>();
    const int64_t each = filters_ / groups_;
    if (groups_ == 1 && filters_ <= isa::kMostDots) {
      loop_ = Loop::kDots;
    } else if (isa_compute().fills_registers(groups_, channels_, each)) {
      loop_ = Loop::kGroups;
    }
    depthwise_ = loop_ == Loop::kPanels && channels_ == 1 && filters_ == groups_ && w.rank() <= 4;
    const bool together = depthwise_ || loop_ == Loop::kGroups;
    bias_ = together ? padded(bias, filters_, filters_) : padded_per_group(bias, each);
    if (tiles_ != Tiles::kNone) given_ = given;
    if (tiles_ == Tiles::kOpen) {
      forms_ = std::make_unique<Forms>();
    } else if (tiles_ == Tiles::kFixed) {
      weights_ = winograd_form();
    } else if (depthwise_) {
      weights_ = taps_first(given, 1, filters_, taps_);
    } else if (loop_ == Loop::kDots) {
      weights_ = taps_first(given, filters_, channels_, taps_);
    } else if (loop_ == Loop::kGroups) {
      auto packed = std::make_shared<Packed>(w.size());
      isa_compute().pack_groups(given, groups_, each, taps_, packed->data());
      weights_ = shared(std::move(packed));
    } else {
      weights_ = product_form(given, program.scratch(each * taps_ * channels_));
    }
  }

  bool packs(const Program&, const Node& node, uint32_t value) const override {
    return value != node.inputs[0] && weights_ != nullptr && given_ == nullptr;
  }
  void build(Builder& b, const Node& node) const override {
    require(weights_ != nullptr || forms_ != nullptr, TENON_INTERNAL, "the weights were not packed");
    const Window window = Window::of(window_, b.dims(node.inputs[0]), b.dims(node.inputs[1]));
    const Tensor x = b.tensor(node.inputs[0], Form::kLast);
    if (depthwise_) return build_depthwise(b, node, window, x);
    if (tiles_ == Tiles::kOpen ? pays(window) : tiles_ == Tiles::kFixed)
      return build_winograd(b, node, window, x,
                            forms_ == nullptr ? weights_ : forms_->tiles([&] { return winograd_form(); }));
    build_product(b, node, window, x, forms_ == nullptr ? weights_ : forms_->product([&] {
      Packed scratch(filters_ * taps_ * channels_);
      return product_form(given_, scratch.data());
    }));
  }

 private:
  /// Whether Winograd's filtering saves more than its transforms cost.
  enum class Tiles : uint8_t {
    kNone,   // no
    kFixed,  // yes
    kOpen    // it depends on the size of the image, which is known when a Run gives it
  };

  /// The weights in the forms that Runs have needed. Thread-safe.
  class Forms {
   public:
    template <class Make>
    std::shared_ptr<const Packed> tiles(Make make) {
      return get(tiles_, make);
    }
    template <class Make>
    std::shared_ptr<const Packed> product(Make make) {
      return get(product_, make);
    }

   private:
    template <class Make>
    std::shared_ptr<const Packed> get(std::shared_ptr<const Packed>& form, Make make) {
      const std::lock_guard lock(mutex_);
      if (form == nullptr) form = make();
      return form;
    }
    std::mutex mutex_;
    std::shared_ptr<const Packed> tiles_, product_;
  };

  /// It takes pixels enough for the larger weights, and channels enough. Depends on shapes alone, so that a model gives the same bits in
  /// every process.
  static Tiles tiles_for(const NodeView& n, const WindowAttributes& window, int64_t* side) {
    if (!n.input(1).is_constant() || !n.input(0).has_rank() || n.input(0).rank() != 4) return Tiles::kNone;
    const DimsView x = n.input(0).dims(), w = n.input(1).dims();
    if (w.size() != 4 || w[2] != 3 || w[3] != 3 || w[0] < 16 || w[1] < 16) return Tiles::kNone;
    // An image that is large enough in each direction whose size is not known.
    const auto size = [](int64_t dim) { return dim < 0 ? int64_t{1} << 10 : dim; };
    try {
      const std::vector<WindowDim> dims = window.resolve(Dims{size(x[2]), size(x[3])}, w.subspan(2));
      if (!pays({dims[0], dims[1]})) return Tiles::kNone;
      *side = side_for(w[0], w[0] * w[1], dims[0].out * dims[1].out);
      return x[2] < 0 || x[3] < 0 ? Tiles::kOpen : Tiles::kFixed;
    } catch (const ep::Error&) {
      return Tiles::kNone;  // shape() tells it for the shapes of a Run
    }
  }
  static bool pays(const Window& window) {
    const auto plain = [](const WindowDim& d) { return d.stride == 1 && d.dilation == 1 && d.out >= 10; };
    return plain(window.rows) && plain(window.columns);
  }

  /// The side of the tiles. Layers with few filters are those of large images near a network's ends, whose errors nothing evens out.
  /// In layers with far more weights than pixels, weights of tiles of 4 would take 4 times the memory of the given ones, instead of
  /// 1.8 times, to save little: a ResNet-50 takes 25 MB less for 2 % more time.
  static int64_t side_for(int64_t filters, int64_t pairs, int64_t pixels) {
    constexpr int64_t kFewFilters = 48, kMostPairsOfAPixel = 256;
    return filters < kFewFilters || pairs >= kMostPairsOfAPixel * pixels ? 2 : 4;
  }

  /// Per group, with zeros up to padded_columns(); null for null.
  std::shared_ptr<const Packed> padded_per_group(const float* bias, int64_t each) const {
    if (bias == nullptr) return nullptr;
    auto out = std::make_shared<Packed>(padded_columns(each) * groups_);
    for (int64_t g = 0; g < groups_; ++g)
      std::copy_n(padded(bias + g * each, each, padded_columns(each))->data(), padded_columns(each),
                  out->data() + g * padded_columns(each));
    return out;
  }

  /// Matrices [channels, taps], as [taps, channels].
  static std::shared_ptr<const Packed> taps_first(const float* w, int64_t matrices, int64_t channels,
                                                  int64_t taps) {
    auto out = std::make_shared<Packed>(matrices * channels * taps);
    for (int64_t at = 0; at < out->elements(); at += channels * taps)
      transpose(w + at, taps, channels, taps, out->data() + at, channels);
    return shared(std::move(out));
  }

  std::shared_ptr<const Packed> winograd_form() const {
    auto packed = std::make_shared<Packed>(isa_compute().packed_size(channels_, filters_) *
                                           isa::Winograd::matrices(side_));
    isa_compute().winograd_pack(side_, given_, channels_, filters_, packed->data());
    return shared(std::move(packed));
  }

  /// A tap's input channels lie together. `turned`: memory for the weights of a group.
  std::shared_ptr<const Packed> product_form(const float* w, float* turned) const {
    const int64_t each = filters_ / groups_, size = isa_compute().packed_size(taps_ * channels_, each);
    auto packed = std::make_shared<Packed>(size * groups_);
    for (int64_t g = 0; g < groups_; ++g) {
      const float* from = w + g * each * channels_ * taps_;
      for (int64_t f = 0; f < each; ++f)
        transpose(from + f * channels_ * taps_, taps_, channels_, taps_, turned + f * channels_ * taps_,
                  channels_);
      isa_compute().pack({turned, taps_ * channels_, each, 1, taps_ * channels_}, packed->data() + g * size);
    }
    return shared(std::move(packed));
  }

  void build_winograd(Builder& b, const Node& node, const Window& window, const Tensor& x,
                      const std::shared_ptr<const Packed>& weights) const {
    const Steps steps = b.follow(node.outputs[0], Form::kLast);
    const Tensor y = b.create(steps.value, Form::kLast);
    isa::Winograd w;
    w.side = side_;
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
    const int64_t most = std::max(isa_compute().rows, room / per_tile), blocks = (tiles + most - 1) / most;
    const int64_t workers = ep::host().worker_count(nullptr);
    int64_t v_size = 0, m_size = 0;  // of one matrix, for all lanes
    for (int64_t n = 1; n <= workers; ++n) {
      const Lanes lanes = lanes_for(tiles, blocks, n);
      v_size = std::max(v_size, lanes.count * isa::Winograd::distance(lanes.block, channels_));
      m_size = std::max(m_size, lanes.count * isa::Winograd::distance(lanes.block, filters_));
    }
    const Tensor v = b.temporary({matrices, v_size}, Form::kPlain),
                 m = b.temporary({matrices, m_size}, Form::kPlain);
    b.add(steps.reads({x, y, v, m}), [=](const Run& run) {
      std::array<Step, isa::kMostSteps> room_for_steps;
      isa::Winograd now = w;
      now.x = run.at(x), now.y = run.at(y), now.chain = steps.at(run, room_for_steps);
      const Lanes lanes = lanes_for(tiles, blocks, std::min<int64_t>(workers, run.ctx.worker_count()));
      if (lanes.count == 1) {
        for (int64_t first = 0; first < tiles; first += lanes.block)
          filter_block(run, now, *weights, first, std::min(lanes.block, tiles - first), run.at(v), run.at(m));
        return;
      }
      std::atomic<int64_t> next{0};
      run.ctx.parallel_for(lanes.count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t lane = begin; lane < end; ++lane) {
          float* const own_v = run.at(v) + lane * matrices * isa::Winograd::distance(lanes.block, w.channels);
          float* const own_m = run.at(m) + lane * matrices * isa::Winograd::distance(lanes.block, w.filters);
          for (int64_t first; (first = next.fetch_add(lanes.block, std::memory_order_relaxed)) < tiles;)
            filter_block(run, now, *weights, first, std::min(lanes.block, tiles - first), own_v, own_m);
        }
      });
    });
  }

  /// Blocks of tiles are filtered by so many workers, each of which does whole blocks: what it has transformed stays in its own cache. A
  /// single lane divides the work within a block.
  struct Lanes {
    int64_t count, block;  // block: tiles
  };
  static Lanes lanes_for(int64_t tiles, int64_t blocks, int64_t workers) {
    constexpr int64_t kFewestTiles = 12, kMostLanes = 32;
    const int64_t count = std::clamp<int64_t>(tiles / kFewestTiles, 1, std::min(workers, kMostLanes));
    blocks = (blocks + count - 1) / count * count;
    return {count, (tiles + blocks - 1) / blocks};
  }

  /// Tiles [first, first + count), by way of the matrices v and m. Called by a worker, it divides nothing.
  static void filter_block(const Run& run, const isa::Winograd& w, const Packed& weights, int64_t first,
                           int64_t count, float* v, float* m) {
    run.ctx.check_cancelled();
    const int64_t matrices = isa::Winograd::matrices(w.side),
                  size = isa_compute().packed_size(w.channels, w.filters),
                  panels = isa_compute().panels(w.filters);
    each_piece(run, count, matrices * w.channels / 8, [&](int64_t begin, int64_t end) {
      isa_compute().winograd_spread(w, first, begin, end, count, v);
    });
    each_piece(run, matrices, count * w.channels * w.filters / 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        isa::Product p;
        p.a = v + i * isa::Winograd::distance(count, w.channels), p.lda = p.k = w.channels, p.n = w.filters;
        p.b = weights.data() + i * size;
        p.part = kWinogradPart;
        p.c = m + i * isa::Winograd::distance(count, w.filters), p.ldc = w.filters;
        isa_compute().product(p, 0, count, 0, panels);
      }
    });
    each_piece(run, count, matrices * w.filters / 8, [&](int64_t begin, int64_t end) {
      isa_compute().winograd_gather(w, first, begin, end, count, m);
    });
  }

  void build_depthwise(Builder& b, const Node& node, const Window& w, const Tensor& x) const {
    const Steps steps = b.follow(node.outputs[0], Form::kLast);
    add_depthwise(b, w, x, b.create(steps.value, Form::kLast), steps);
  }

  /// All but addresses, distances and steps.
  isa::Depthwise depthwise_of(const Window& w) const {
    isa::Depthwise d;
    d.channels = filters_;
    d.height = w.rows.in, d.width = w.columns.in, d.out_height = w.rows.out, d.out_width = w.columns.out;
    const WindowDim* axes[2] = {&w.rows, &w.columns};
    for (int i = 0; i < 2; ++i) {
      d.kernel[i] = axes[i]->kernel, d.stride[i] = axes[i]->stride;
      d.pad[i] = axes[i]->pad_begin, d.dilation[i] = axes[i]->dilation;
    }
    d.weights = weights_->data();
    d.bias = bias_ == nullptr ? nullptr : bias_->data();
    return d;
  }

  void add_depthwise(Builder& b, const Window& w, const Tensor& x, const Tensor& y,
                     const Steps& steps) const {
    isa::Depthwise d = depthwise_of(w);
    d.ldx = x.ld, d.ldy = y.ld;
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

  void build_product(Builder& b, const Node& node, const Window& w, const Tensor& x,
                     std::shared_ptr<const Packed> weights) const {
    Factors f;
    f.rows = x.dims[0] * w.rows.out * w.columns.out;
    f.groups = loop_ == Loop::kGroups ? 1 : groups_, f.n = filters_ / f.groups;
    f.weights = std::move(weights), f.bias = bias_, f.loop = loop_;
    if (groups_ == 1 && (loop_ == Loop::kDots || channels_ <= kFewChannels) && w.columns.kernel > 1 &&
        w.columns.dilation == 1) {
      // Pixels beside each other lie beside each other in memory too, so a line of the kernel is one tap. It must lie within the image.
      Window lines = w;
      f.taps = w.rows.kernel, f.k = w.columns.kernel * channels_;
      f.x = columns_of(b, x, w.columns.pad_begin, (w.columns.out - 1) * w.columns.stride + w.columns.kernel);
      lines.columns.kernel = 1, lines.columns.pad_begin = 0, lines.columns.in = f.x.dims.back();
      f.places = places_of(b, lines, x.dims[0]);
    } else {
      f.taps = taps_, f.k = channels_;
      f.x = x;
      f.places = places_of(b, w, x.dims[0]);
    }
    const Steps steps = b.follow(node.outputs[0], Form::kLast);
    if (!build_bands(b, f, x.dims[0], steps)) add_product(b, f, b.create(steps.value, Form::kLast), steps);
  }

  /// Together with the depthwise convolution that reads the product, if one does and it pays.
  static bool build_bands(Builder& b, const Factors& f, int64_t images, const Steps& steps) {
    const uint32_t next = b.only_consumer(steps.value);
    const Node* node = next == kNone ? nullptr : &b.node(next);
    const Conv* conv = node == nullptr ? nullptr : dynamic_cast<const Conv*>(node->operation.get());
    if (conv == nullptr || !conv->depthwise_ || node->inputs[0] != steps.value ||
        ep::element_count(b.dims(node->outputs[0])) == 0)
      return false;
    const Window w = Window::of(conv->window_, b.dims(node->inputs[0]), b.dims(node->inputs[1]));
    const Bands bands{f, steps, conv->depthwise_of(w), images};
    if (!takes_bands(bands)) return false;
    const Steps last = b.follow(b.take_in(next), Form::kLast);
    const Tensor y = b.create(last.value, Form::kLast);
    if (ignores_rows(last)) {
      add_bands(b, bands, y, last);
    } else {
      const Tensor x = b.create(steps.value, Form::kLast);
      add_product(b, f, x, steps);
      conv->add_depthwise(b, w, x, y, last);
    }
    return true;
  }

  /// `x` without gaps between its pixels, and at least `width` columns: `margin` of zeros, those of x, and zeros.
  static Tensor columns_of(Builder& b, const Tensor& x, int64_t margin, int64_t width) {
    if (margin == 0 && width <= x.dims.back() && x.is_dense()) return x;
    Dims dims = x.dims;
    dims.back() = width;
    Tensor y = b.temporary(dims, Form::kLast);
    const int64_t channels = x.dims[1], columns = x.dims.back(),
                  lines = x.dims[0] * (dims.size() == 4 ? dims[2] : 1);
    const int64_t before = std::min(margin, width), inside = std::clamp<int64_t>(width - margin, 0, columns);
    b.add({x, y}, [=](const Run& run) {
      each_piece(run, lines, width * channels, [&](int64_t begin, int64_t end) {
        for (int64_t line = begin; line < end; ++line) {
          const float* from = run.at(x) + line * columns * x.ld;
          float* to = run.at(y) + line * width * channels;
          std::fill_n(to, before * channels, 0.0f);
          to += before * channels;
          if (x.ld == channels) {
            std::copy_n(from, inside * channels, to);
          } else {
            for (int64_t i = 0; i < inside; ++i) std::copy_n(from + i * x.ld, channels, to + i * channels);
          }
          std::fill_n(to + inside * channels, (width - before - inside) * channels, 0.0f);
        }
      });
    });
    return y;
  }

  WindowAttributes window_;
  int64_t groups_;
  int64_t channels_ = 0, filters_ = 0, taps_ = 1;
  int64_t side_ = 4;  // before tiles_, which sets it
  Tiles tiles_;
  bool depthwise_ = false;
  Loop loop_ = Loop::kPanels;
  const float* given_ = nullptr;  // the weights as the model has them
  std::shared_ptr<const Packed> weights_, bias_;
  std::unique_ptr<Forms> forms_;  // instead of weights_, for Tiles::kOpen
};
CPU_ISLAND_OPERATOR(Conv, .op_type = "Conv", .gains = true)

}  // namespace
}  // namespace tenon::cpu::islands
