#include "islands/byte_product.h"

#include "device.h"

namespace tenon::cpu::islands {

ByteWeights::ByteWeights(const ByteLayout& layout, const uint8_t* w, uint32_t w_dtype, int32_t x_zero,
                         const std::optional<ep::TensorView>& w_zero, const int32_t* bias,
                         std::vector<double> factors)
    : layout_(layout),
      factors_(std::move(factors)),
      factors_f32_(factors_.begin(), factors_.end()),
      outside_(static_cast<uint8_t>(x_zero)) {
  const uint8_t toggle = right_toggle(w_dtype);
  std::vector<int32_t> sums(static_cast<size_t>(columns()));
  pack(w, toggle, sums.data());
  const int32_t shift = toggle != 0 ? -128 : 0, terms = static_cast<int32_t>(layout.k * layout.taps);
  for (int64_t i = 0; i < columns(); ++i) {
    const int32_t zero = (w_zero ? byte_at(*w_zero, w_zero->size() == 1 ? 0 : i) : 0) + shift;
    int32_t constant = wrapping_multiply(
        x_zero, wrapping_subtract(wrapping_multiply(terms, zero), sums[static_cast<size_t>(i)]));
    if (bias != nullptr) constant = wrapping_add(constant, bias[i]);
    zeros_.push_back(zero);
    constants_.push_back(constant);
    shifted_ = shifted_ || zero != 0;
  }
  if (!shifted_ || !depthwise()) return;
  const int64_t count = isa::depthwise_bytes(layout.taps, layout.groups);
  ones_ = AlignedList<int8_t>(count);
  std::fill_n(ones_.data(), count, int8_t{1});  // taps beyond the last meet zeros
}

void ByteWeights::pack(const uint8_t* w, uint8_t toggle, int32_t* sums) {
  const ByteLayout& l = layout_;
  const int64_t count = depthwise() ? isa::depthwise_bytes(l.taps, l.groups) : l.groups * group_bytes();
  auto packed = std::make_shared<Packed>(ceil_div(count, 4));
  std::fill_n(packed->data(), packed->elements(), 0.0f);
  auto* const bytes = reinterpret_cast<int8_t*>(packed->data());
  if (depthwise()) {
    isa_integer().pack_depthwise(w, l.taps, l.groups, toggle, bytes, sums);
    bytes_ = shared(std::move(packed));
    return;
  }
  for (int64_t g = 0; g < l.groups; ++g) {
    for (int64_t t = 0; t < l.taps; ++t) {
      isa_integer().pack(w + g * l.group + t * l.tap, l.k, l.row, l.n, l.column, toggle,
                         bytes + g * group_bytes() + t * in_quads(l.k) * isa::kPanel, panel_bytes(),
                         sums + g * l.n);
    }
  }
  bytes_ = shared(std::move(packed));
}

/// The task of add_byte_product().
class ByteProduct {
 public:
  Tensor x, y;
  int64_t rows = 0;
  std::shared_ptr<const std::vector<int32_t>> places;
  std::shared_ptr<const ByteWeights> weights;
  ByteResult result;
  std::optional<ByteSum> sum;  // what is added to the bytes

  void run(const Run& run) const {
    const ByteLayout& l = weights->layout_;
    const bool depthwise = weights->depthwise();
    const int64_t groups = depthwise ? 1 : l.groups, columns = weights->columns() / groups;
    // A block has a whole number of tiles of rows, and few rows are cut by columns instead.
    const int64_t blocks = ceil_div(rows, kRows);
    const int64_t block = std::min(kRows, ceil_div(ceil_div(rows, blocks), kTile) * kTile);
    const int64_t tiles = ceil_div(columns, isa::kTileColumns);
    const int64_t parts = std::min(tiles, ceil_div(kPieces, blocks * groups));
    const int64_t work = std::min(block, rows) * ceil_div(columns, parts) * l.taps * (depthwise ? 1 : l.k);
    const WorkerLists<const uint8_t*> addresses(run.ctx, kRows * l.taps);
    const std::span<uint8_t> outside =
        scratch_list<uint8_t>(run.ctx, in_quads(depthwise ? columns : l.k) + isa::kTileColumns);
    std::fill(outside.begin(), outside.end(), weights->outside_);
    run.ctx.parallel_for(groups * blocks * parts,
                         std::max<int64_t>(1, kGrain * 64 / std::max<int64_t>(1, work)),
                         [&](uint32_t worker, int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             const int64_t part = i % parts, group = i / parts % groups;
                             Piece piece{group, i / parts / groups * block, 0, addresses.of(worker).data()};
                             piece.rows = std::min(block, rows - piece.first);
                             if (piece.rows <= 0) continue;
                             find(run, outside.data(), piece);
                             int32_t row_sums[kRows];
                             if (weights->shifted_ && !depthwise) add_rows(piece, row_sums);
                             const int64_t last = tiles * (part + 1) / parts;
                             for (int64_t tile = tiles * part / parts; tile < last; ++tile) {
                               run.ctx.check_cancelled();
                               const int64_t column = tile * isa::kTileColumns;
                               alignas(64) int32_t sums[kRows * isa::kTileColumns];
                               const int64_t n = std::min(isa::kTileColumns, columns - column);
                               if (depthwise) {
                                 multiply_channels(piece, column, n, sums);
                               } else {
                                 multiply(piece, row_sums, column, n, sums);
                               }
                               store(run, piece, column, n, sums);
                             }
                           }
                         });
  }

 private:
  static constexpr int64_t kRows = 96, kTile = 6, kPieces = 8;

  struct Piece {
    int64_t group, first, rows;
    const uint8_t** addresses;  // [rows, taps]
  };

  void find(const Run& run, const uint8_t* outside, const Piece& piece) const {
    const ByteLayout& l = weights->layout_;
    const uint8_t* const from = run.bytes_at(x) + piece.group * l.k;
    if (places == nullptr) {
      for (int64_t i = 0; i < piece.rows; ++i) piece.addresses[i] = from + (piece.first + i) * x.ld;
      return;
    }
    isa_integer().find(places->data() + piece.first * l.taps, piece.rows * l.taps, from, x.ld, outside,
                       piece.addresses);
  }

  void add_rows(const Piece& piece, int32_t* sums) const {
    const ByteLayout& l = weights->layout_;
    for (int64_t i = 0; i < piece.rows; ++i) {
      int32_t total = 0;
      for (int64_t t = 0; t < l.taps; ++t)
        total = wrapping_add(total, isa_integer().sum(piece.addresses[i * l.taps + t], l.k));
      sums[i] = wrapping_subtract(0, total);
    }
  }

  void multiply(const Piece& piece, const int32_t* row_sums, int64_t column, int64_t n, int32_t* sums) const {
    const ByteLayout& l = weights->layout_;
    isa::IntegerProduct g;
    g.m = piece.rows, g.taps = l.taps, g.depth = in_quads(l.k), g.panels = ceil_div(n, isa::kPanel);
    g.rows = piece.addresses, g.row_step = l.taps;
    g.panel_bytes = weights->panel_bytes();
    g.b = weights->bytes() + piece.group * weights->group_bytes() + column / isa::kPanel * g.panel_bytes;
    g.c = sums, g.ldc = isa::kTileColumns;
    if (column + n < weights->layout_.n) g.next = g.b + g.panels * g.panel_bytes;
    isa_integer().product(g);
    const int32_t* const zeros = weights->zeros_.data() + piece.group * l.n + column;
    for (int64_t i = 0; weights->shifted_ && i < piece.rows; ++i)
      isa_integer().correct_row(sums + i * isa::kTileColumns, n, row_sums[i], zeros);
  }

  void multiply_channels(const Piece& piece, int64_t column, int64_t n, int32_t* sums) const {
    const int64_t taps = weights->layout_.taps;
    for (int64_t i = 0; i < piece.rows; ++i) {
      const uint8_t* const* const pixels = piece.addresses + i * taps;
      int32_t* const c = sums + i * isa::kTileColumns;
      isa_integer().depthwise(pixels, taps, column, weights->bytes(), c);
      if (!weights->shifted_) continue;
      int32_t windows[isa::kTileColumns];  // sums of x over the taps
      isa_integer().depthwise(pixels, taps, column, weights->ones_.data(), windows);
      isa_integer().subtract_products(c, n, windows, weights->zeros_.data() + column);
    }
  }

  void store(const Run& run, const Piece& piece, int64_t column, int64_t n, const int32_t* sums) const {
    const int64_t at = piece.group * weights->layout_.n + column;
    const int32_t* const constants = weights->constants_.data() + at;
    const isa::Rounding to{result.zero, 0, 255};
    const auto& isa = isa_integer();
    const float* const factors = weights->factors_f32_.data() + at;
    if (sum) return store_sum(run, piece, at, n, sums);
    if (result.kind == ByteResult::Kind::kBytes) {
      isa.requantize_f32(sums, isa::kTileColumns, piece.rows, constants, n, factors, to,
                         run.bytes_at(y) + piece.first * y.ld + at, y.ld);
      return;
    }
    for (int64_t i = 0; i < piece.rows; ++i, sums += isa::kTileColumns) {
      const int64_t y_at = (piece.first + i) * y.ld + at;
      if (result.kind == ByteResult::Kind::kFloats) {
        isa.to_float(sums, constants, n, factors, nullptr, run.at(y) + y_at);
      } else {
        isa.requantize_f64(sums, constants, n, weights->factors_.data() + at, to, run.bytes_at(y) + y_at);
      }
    }
  }

  void store_sum(const Run& run, const Piece& piece, int64_t at, int64_t n, const int32_t* sums) const {
    const auto& isa = isa_integer();
    uint8_t bytes[kRows * isa::kTileColumns];
    isa.requantize_f32(sums, isa::kTileColumns, piece.rows, weights->constants_.data() + at, n,
                       weights->factors_f32_.data() + at, {result.zero, 0, 255}, bytes, isa::kTileColumns);
    const isa::QuantizedSum both = quantised_sum(sum->own, sum->other.scaling, sum->result, sum->relu);
    for (int64_t i = 0; i < piece.rows; ++i) {
      const int64_t row = piece.first + i;
      isa.add_quantized(bytes + i * isa::kTileColumns, run.bytes_at(sum->other) + row * sum->other.ld + at, n,
                        both, run.bytes_at(y) + row * y.ld + at);
    }
  }
};

void add_byte_product(Builder& b, const Tensor& x, int64_t rows,
                      std::shared_ptr<const std::vector<int32_t>> places,
                      std::shared_ptr<const ByteWeights> weights, const ByteResult& result, uint32_t value,
                      Form form) {
  ByteProduct product;
  // A row's last quad, and a vector of channels, may reach into the bytes after it.
  const bool reaches = weights->depthwise() || weights->layout().k % isa::kQuad != 0;
  product.x = reaches ? b.padded(x) : x;
  product.rows = rows, product.places = std::move(places), product.weights = std::move(weights);
  product.result = result;
  if (result.kind == ByteResult::Kind::kBytes) product.sum = b.follow_sum(value, form);
  product.y = b.create(product.sum ? product.sum->value : value, form);
  std::vector<Tensor> touched{product.x, product.y};
  if (product.sum) touched.push_back(product.sum->other);
  b.add(touched, [product](const Run& run) { product.run(run); });
}

}  // namespace tenon::cpu::islands
