#include "islands/product.h"

namespace tenon::cpu::islands {
namespace {

/// Rows of a piece of loops other than that over panels: these work on whole tiles of it.
constexpr int64_t kPieceRows = 32;

}  // namespace

int64_t padded_columns(int64_t n) {
  return (n + isa::kBiasPadding - 1) / isa::kBiasPadding * isa::kBiasPadding;
}

std::shared_ptr<Packed> padded(const float* bias, int64_t n, int64_t padded) {
  if (bias == nullptr) return nullptr;
  auto out = std::make_shared<Packed>(padded);
  std::copy_n(bias, n, out->data());
  std::fill(out->data() + n, out->data() + padded, 0.0f);
  return out;
}

void add_product(Builder& b, const Factors& f, uint32_t value, Form form) {
  const Steps steps = b.follow(value, form);
  add_product(b, f, b.create(steps.value, form), steps);
}

void add_product(Builder& b, const Factors& f, const Tensor& y, const Steps& steps) {
  const int64_t size = isa_compute().packed_size(f.taps * f.k, f.n), padded_bias = padded_columns(f.n);
  const int64_t panels = isa_compute().panels(f.n),
                tile = f.loop == Loop::kPanels ? isa_compute().rows : kPieceRows;
  auto zeros = std::make_shared<Packed>(f.k);
  std::fill_n(zeros->data(), f.k, 0.0f);
  // Whole tiles of rows, unless there are so few that the panels give more pieces.
  const int64_t tiles = (f.rows + tile - 1) / tile;
  const bool by_rows = f.loop != Loop::kPanels || tiles >= 2 * panels || tiles >= 64;
  const int64_t pieces = by_rows ? tiles : panels;
  const int64_t cost = product_cost(f.rows, f.taps * f.k, f.n) / std::max<int64_t>(1, pieces);
  b.add(steps.reads({f.x, y}), [=](const Run& run) {
    std::array<Step, isa::kMostSteps> room;
    isa::Product whole;
    whole.lda = f.x.ld, whole.taps = f.taps, whole.k = f.k, whole.n = f.n;
    whole.places = f.places == nullptr ? nullptr : f.places->data();
    whole.zeros = zeros->data();
    whole.ldc = y.ld;
    const isa::Chain chain = steps.at(run, room);
    const auto compute = [&](int64_t g, int64_t begin, int64_t end) {
      std::array<Step, isa::kMostSteps> shifted = room;
      for (int i = 0; i < chain.count; ++i) {
        Step& s = shifted[static_cast<size_t>(i)];
        if (s.other != nullptr && !s.scalar) s.other += g * f.n;
      }
      isa::Product p = whole;
      p.chain = {shifted.data(), chain.count};
      p.a = run.at(f.x) + g * f.k;
      p.b = f.weights->data() + g * size;
      p.bias = f.bias == nullptr ? nullptr : f.bias->data() + g * padded_bias;
      p.c = run.at(y) + g * f.n;
      run.ctx.check_cancelled();
      if (f.loop == Loop::kDots) {
        isa_compute().dots(p, begin * tile, std::min(f.rows, end * tile));
      } else if (f.loop == Loop::kGroups) {
        isa_compute().groups(p, begin * tile, std::min(f.rows, end * tile));
      } else if (by_rows) {
        isa_compute().product(p, begin * tile, std::min(f.rows, end * tile), 0, panels);
      } else {
        isa_compute().product(p, 0, f.rows, begin, end);
      }
    };
    // The pieces of all groups at once: a division for each group would be more work than a narrow group itself.
    each_piece(run, f.groups * pieces, cost, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t first = begin % pieces, last = std::min(pieces, first + end - begin);
        compute(begin / pieces, first, last);
        begin += last - first;
      }
    });
  });
}

}  // namespace tenon::cpu::islands
