// LSTM, GRU and RNN with constant weights. The products with the input are one product for all steps. Each step then multiplies the
// state by R, which is read as a whole, so that a step takes as long as that. Steps read R forwards and backwards in turn: what the
// cache still has of it is read first. Where precision allows bfloat16, both are computed in it: R then takes half the memory.
#include <cctype>
#include <optional>

#include "isa/recurrent.h"
#include "islands/pair_product.h"
#include "islands/product.h"

namespace tenon::cpu::islands {
namespace {

struct Sizes {
  int64_t time = 0, batch = 0, hidden = 0, directions = 1;

  int64_t state() const { return batch * hidden; }
};

/// The packed weights of one direction.
struct Weights {
  std::shared_ptr<const Packed> w, w_bias;      // of the input
  std::shared_ptr<const Packed> r, r_bias;      // of the state; null: the bias is part of w_bias
  std::optional<PairProduct> w_pairs, r_pairs;  // instead of w and r: in bfloat16
};

/// Where a direction's numbers are in one Run.
struct Addresses {
  const float* x = nullptr;  // the products with the input, [time, batch, ld]
  const float* h = nullptr;  // [batch, hidden], before the first step
  float* c = nullptr;        // [batch, hidden]
  float* y = nullptr;        // [time, directions, batch, hidden], at this direction
  float* sums = nullptr;     // [batch, ld]
  float* pairs = nullptr;    // the state in bfloat16, [batch, words]
  int64_t ld = 0;            // gates * hidden, or more
};

class Recurrent : public Operation {
 public:
  Dims shape(const Builder& b, const Node& node, size_t output) const override {
    const Sizes s = sizes(b, node);
    const Dims state = {s.directions, s.batch, s.hidden};
    for (size_t i = 5; i < std::min<size_t>(node.inputs.size(), 7); ++i) {
      if (node.inputs[i] == kNone) continue;
      const Dims& given = b.dims(node.inputs[i]);
      require(given == state, TENON_INVALID_ARGUMENT, "the initial state has shape ", given, " and needs ",
              state);
    }
    return output == 0 ? Dims{s.time, s.directions, s.batch, s.hidden} : state;
  }

  void pack(Program& program, const Node& node) override {
    const ep::TensorView w = program.constant(node.inputs[1]), r = program.constant(node.inputs[2]);
    const bool has_bias = node.inputs.size() > 3 && node.inputs[3] != kNone;
    const float* bias = has_bias ? program.constant(node.inputs[3]).data<float>() : nullptr;
    const int64_t n = w.dim(1), hidden = r.dim(2);
    input_ = w.dim(2);
    for (int64_t d = 0; d < w.dim(0); ++d) {
      Weights out;
      const float *of_input = w.data<float>() + d * n * input_, *of_state = r.data<float>() + d * n * hidden;
      if (bf16_ != nullptr) {
        out.w_pairs.emplace(*bf16_, of_input, input_, n);
        out.r_pairs.emplace(*bf16_, of_state, hidden, n);
      } else {
        out.w = packed(of_input, input_, n);
        out.r = packed(of_state, hidden, n);
      }
      if (bias != nullptr) {
        std::vector<float> of_w(bias + d * 2 * n, bias + d * 2 * n + n),
            of_r(bias + d * 2 * n + n, bias + (d + 1) * 2 * n);
        if (own_bias_) {
          out.r_bias = padded(of_r.data(), n, padded_columns(n));
        } else {
          for (size_t i = 0; i < of_w.size(); ++i) of_w[i] += of_r[i];
        }
        out.w_bias = padded(of_w.data(), n, padded_columns(n));
      }
      weights_.push_back(std::move(out));
    }
  }
  bool packs(const Program&, const Node& node, uint32_t value) const override {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == value && (i == 0 || i > 3)) return false;
    }
    return !weights_.empty();
  }

  void build(Builder& b, const Node& node) const override {
    const Sizes s = sizes(b, node);
    const auto input = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNone; };
    const auto output = [&](size_t i) { return i < node.outputs.size() ? node.outputs[i] : kNone; };
    const auto made = [&](size_t i, const Dims& dims) {
      return output(i) != kNone ? b.create(output(i), Form::kPlain) : b.temporary(dims, Form::kPlain);
    };
    const Dims state = {s.directions, s.batch, s.hidden};
    const int64_t n = gates_ * s.hidden, ld = bf16_ != nullptr ? weights_[0].r_pairs->columns() : n;
    // First states, or the memory for zeros.
    const auto first = [&](size_t i) {
      return input(i) != kNone ? b.dense(input(i), Form::kPlain) : b.temporary(state, Form::kPlain);
    };
    const bool h_given = input(5) != kNone, c_given = has_cell_ && input(6) != kNone;
    const Tensor h = first(5), c0 = c_given ? first(6) : Tensor{};
    const Tensor given = b.dense(node.inputs[0], Form::kPlain);
    std::vector<Tensor> x;
    for (const Weights& weights : weights_) {
      x.push_back(b.temporary({s.time * s.batch, ld}, Form::kPlain));
      add_input(b, weights, given, s, x.back());
    }
    const Tensor y = made(0, {s.time, s.directions, s.batch, s.hidden}),
                 sums = b.temporary({s.directions, s.batch, ld}, Form::kPlain);
    const int64_t words = bf16_ != nullptr ? weights_[0].r_pairs->words() : 0;
    const Tensor pairs = b.temporary({s.directions, s.batch, words}, Form::kPlain);
    const Tensor c = has_cell_ ? made(2, state) : Tensor{};
    const Tensor last = output(1) != kNone ? b.create(output(1), Form::kPlain) : Tensor{};
    std::vector<Tensor> touched = {y, sums, pairs, h};
    touched.insert(touched.end(), x.begin(), x.end());
    for (const Tensor& t : {c, c0, last}) {
      if (t.buffer != kNone) touched.push_back(t);
    }
    b.add(touched, [=, this](const Run& run) {
      const int64_t elements = s.directions * s.state();
      if (!h_given) std::fill_n(run.at(h), elements, 0.0f);
      if (c_given) std::copy_n(run.at(c0), elements, run.at(c));
      if (has_cell_ && !c_given) std::fill_n(run.at(c), elements, 0.0f);
      const auto direction = [&](int64_t d, bool split) {
        Addresses a;
        a.x = run.at(x[static_cast<size_t>(d)]);
        a.h = run.at(h) + d * s.state();
        a.c = has_cell_ ? run.at(c) + d * s.state() : nullptr;
        a.y = run.at(y) + d * s.state();
        a.sums = run.at(sums) + d * s.batch * ld;
        a.pairs = run.at(pairs) + d * s.batch * words;
        a.ld = ld;
        const float* end = run_steps(run, s, a, d, split);
        if (last.buffer != kNone) std::copy_n(end, s.state(), run.at(last) + d * s.state());
      };
      // Two workers do better with a direction each, since they then need not wait for each other in every step.
      const bool apart = s.directions == 2 && (run.ctx.worker_count() == 2 || run.ctx.worker_count() == 3);
      if (apart) {
        run.ctx.parallel_for(2, 1, [&](int64_t begin, int64_t end) {
          for (int64_t d = begin; d < end; ++d) direction(d, false);
        });
      } else {
        for (int64_t d = 0; d < s.directions; ++d) direction(d, true);
      }
    });
  }

 protected:
  Recurrent(const NodeView& n, int64_t gates, bool has_cell, bool own_bias)
      : gates_(gates),
        has_cell_(has_cell),
        own_bias_(own_bias),
        reverse_(n.attr_s("direction", "forward") == "reverse"),
        bf16_(n.instance().precision == TENON_PRECISION_BF16 ? isa_attention_bf16() : nullptr) {}

  static Support supports(const NodeView& n, std::initializer_list<std::string_view> activations) {
    const int64_t directions = n.attr_s("direction", "forward") == "bidirectional" ? 2 : 1;
    Check check(n);
    for (const int i : {1, 2, 3})
      check.that(i == 3 && !n.has_input(3) ? true : n.input(i).is_constant(), TENON_REJECT_OTHER, "input ", i,
                 " is not a constant");
    ranked(check, n, 0, 3, 3)
        .that(!n.has_input(4), TENON_REJECT_OTHER, "sequences have lengths of their own");
    if (!static_cast<Support>(check)) return check;
    return check
        .that(n.input(1).rank() == 3 && n.input(1).dim(0) == directions, TENON_REJECT_SHAPE,
              "W is not one matrix per direction")
        .that(n.attr_i("layout", 0) == 0, TENON_REJECT_ATTRIBUTE, "the batch comes first")
        .that(n.attr_f("clip", 0) <= 0, TENON_REJECT_ATTRIBUTE, "gates are clipped")
        .that(are(n.attr_strings("activations"), activations, directions), TENON_REJECT_ATTRIBUTE,
              "activations are not the defaults");
  }

  /// Steps of one row, after the product. `h`: the state before, `next` that after the step.
  virtual void finish(const float* x, const float* sums, const float* h, float* c, float* next,
                      int64_t hidden) const = 0;

 private:
  static bool are(const std::vector<std::string>& given, std::initializer_list<std::string_view> defaults,
                  int64_t directions) {
    if (given.empty()) return true;
    if (given.size() != defaults.size() * static_cast<size_t>(directions)) return false;
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string_view wanted = defaults.begin()[i % defaults.size()];
      const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
      if (!std::equal(given[i].begin(), given[i].end(), wanted.begin(), wanted.end(), same)) return false;
    }
    return true;
  }

  static std::shared_ptr<const Packed> packed(const float* weights, int64_t k, int64_t n) {
    auto out = std::make_shared<Packed>(isa_compute().packed_size(k, n));
    isa_compute().pack({weights, k, n, 1, k}, out->data());
    return shared(std::move(out));
  }

  Sizes sizes(const Builder& b, const Node& node) const {
    const Dims &x = b.dims(node.inputs[0]), &r = b.dims(node.inputs[2]);
    return {x[0], x[1], r[2], r[0]};
  }

  /// x = the products of the input with W, and the bias.
  void add_input(Builder& b, const Weights& weights, const Tensor& given, const Sizes& s,
                 const Tensor& x) const {
    const int64_t rows = s.time * s.batch, n = gates_ * s.hidden;
    if (!weights.w_pairs) {
      Factors f;
      f.x = given;
      f.rows = rows, f.k = input_, f.n = n;
      f.weights = weights.w, f.bias = weights.w_bias;
      add_product(b, f, x, Steps{});
      return;
    }
    const PairProduct& product = *weights.w_pairs;
    const Tensor pairs = b.temporary({rows, product.words()}, Form::kPlain);
    b.add({given, pairs, x}, [=, &product, bias = weights.w_bias, input = input_](const Run& run) {
      // So many rows meet a piece of the weights while it is in the nearest cache.
      constexpr int64_t kBlock = 48;
      const int64_t ld = product.columns(), blocks = (rows + kBlock - 1) / kBlock;
      each_piece(run, blocks, product_cost(kBlock, input, n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i * kBlock, count = std::min(kBlock, rows - first);
          float *in_pairs = run.at(pairs) + first * product.words(), *to = run.at(x) + first * ld;
          product.pack(run.at(given) + first * input, input, count, in_pairs);
          for (int64_t r = 0; r < count; ++r) begin_sums(bias, n, ld, to + r * ld);
          product.add(in_pairs, count, 0, product.pieces(), to, ld);
        }
      });
    });
  }

  /// A row of sums: the bias, or zeros.
  static void begin_sums(const std::shared_ptr<const Packed>& bias, int64_t n, int64_t ld, float* sums) {
    const int64_t given = bias == nullptr ? 0 : n;
    if (given > 0) std::copy_n(bias->data(), given, sums);
    std::fill(sums + given, sums + ld, 0.0f);
  }

  /// Returns the state after the last step.
  const float* run_steps(const Run& run, const Sizes& s, const Addresses& a, int64_t d, bool split) const {
    const int64_t n = gates_ * s.hidden;
    const Weights& weights = weights_[static_cast<size_t>(d)];
    const int64_t pieces = weights.r_pairs ? weights.r_pairs->pieces() : isa_compute().panels(n);
    const bool backwards = reverse_ || d == 1;
    const float* h = a.h;
    for (int64_t step = 0; step < s.time; ++step) {
      run.ctx.check_cancelled();
      const int64_t t = backwards ? s.time - 1 - step : step;
      const float* x = a.x + t * s.batch * a.ld;
      float* next = a.y + t * s.directions * s.state();
      if (weights.r_pairs) weights.r_pairs->pack(h, s.hidden, s.batch, a.pairs);
      const auto product = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i += isa::kRowPanels) {
          const int64_t size = std::min(isa::kRowPanels, end - i),
                        piece = step % 2 == 0 ? i : begin + end - i - size;
          multiply(weights, s, a, h, x, piece, piece + size);
        }
      };
      const auto ends = [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
          finish(x + b * a.ld, a.sums + b * a.ld, h + b * s.hidden,
                 a.c == nullptr ? nullptr : a.c + b * s.hidden, next + b * s.hidden, s.hidden);
      };
      if (split) {
        each_piece(run, pieces, product_cost(s.batch, s.hidden, n) / pieces, product);
        each_piece(run, s.batch, 8 * n, ends);
      } else {
        product(0, pieces);
        ends(0, s.batch);
      }
      h = next;
    }
    return h;
  }

  /// Pieces of the sums of a step: h * R, with the products of the input or the state's own bias.
  void multiply(const Weights& weights, const Sizes& s, const Addresses& a, const float* h, const float* x,
                int64_t begin, int64_t end) const {
    const int64_t n = gates_ * s.hidden;
    if (weights.r_pairs) {
      const int64_t first = begin * kPieceColumns, last = std::min(a.ld, end * kPieceColumns);
      for (int64_t b = 0; b < s.batch; ++b) {
        float* sums = a.sums + b * a.ld;
        if (!own_bias_) {
          std::copy(x + b * a.ld + first, x + b * a.ld + last, sums + first);
        } else if (weights.r_bias != nullptr) {
          std::copy_n(weights.r_bias->data() + first, last - first, sums + first);
        } else {
          std::fill(sums + first, sums + last, 0.0f);
        }
      }
      weights.r_pairs->add(a.pairs, s.batch, begin, end, a.sums, a.ld);
      return;
    }
    Step add;
    add.kind = Step::Kind::kAdd, add.other = x, add.ld = a.ld;
    isa::Product p;
    p.a = h, p.lda = s.hidden, p.k = s.hidden, p.n = n;
    p.b = weights.r->data();
    p.bias = weights.r_bias == nullptr ? nullptr : weights.r_bias->data();
    p.c = a.sums, p.ldc = a.ld;
    if (!own_bias_) p.chain = {&add, 1};
    isa_compute().product(p, 0, s.batch, begin, end);
  }

  int64_t gates_;
  bool has_cell_, own_bias_, reverse_;
  const isa::Attention* bf16_;  // null: float32
  int64_t input_ = 0;
  std::vector<Weights> weights_;
};

class Lstm : public Recurrent {
 public:
  static Support supports(const NodeView& n) {
    Support usual = Recurrent::supports(n, {"Sigmoid", "Tanh", "Tanh"});
    if (!usual) return usual;
    return Check(n)
        .that(!n.has_input(7), TENON_REJECT_OTHER, "there are peepholes")
        .that(n.attr_i("input_forget", 0) == 0, TENON_REJECT_ATTRIBUTE, "input and forget gates are coupled");
  }
  explicit Lstm(const NodeView& n) : Recurrent(n, 4, true, false) {}

 private:
  void finish(const float*, const float* sums, const float*, float* c, float* next,
              int64_t hidden) const override {
    isa_table().recurrent->lstm(sums, c, next, hidden);
  }
};
CPU_ISLAND_OPERATOR(Lstm, .op_type = "LSTM", .gains = true)

class Gru : public Recurrent {
 public:
  static Support supports(const NodeView& n) {
    Support usual = Recurrent::supports(n, {"Sigmoid", "Tanh"});
    if (!usual) return usual;
    return Check(n).that(n.attr_i("linear_before_reset", 0) != 0, TENON_REJECT_ATTRIBUTE,
                         "the state is reset before the product");
  }
  explicit Gru(const NodeView& n) : Recurrent(n, 3, false, true) {}

 private:
  void finish(const float* x, const float* sums, const float* h, float*, float* next,
              int64_t hidden) const override {
    isa_table().recurrent->gru(x, sums, h, next, hidden);
  }
};
CPU_ISLAND_OPERATOR(Gru, .op_type = "GRU", .since = 3, .gains = true)

class Rnn : public Recurrent {
 public:
  static Support supports(const NodeView& n) { return Recurrent::supports(n, {"Tanh"}); }
  explicit Rnn(const NodeView& n) : Recurrent(n, 1, false, false) {}

 private:
  void finish(const float*, const float* sums, const float*, float*, float* next,
              int64_t hidden) const override {
    isa_table().tanh(sums, next, hidden);
  }
};
CPU_ISLAND_OPERATOR(Rnn, .op_type = "RNN", .gains = true)

}  // namespace
}  // namespace tenon::cpu::islands
