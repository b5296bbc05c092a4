// Convolution of 8-bit integers with 32-bit sums, which wrap around.
//
// Channels are copied to be innermost. An output position is then a row of a product of bytes, with one piece per
// tap that lies somewhere in the copy, or in a row of zero points; nothing is laid out as columns.
#pragma once

#include "kernels/common/integer_product.h"
#include "kernels/common/quantize.h"
#include "kernels/common/window.h"

namespace tenon::cpu {

struct ConvIntegerState {
  std::vector<WindowDim> window;
  int64_t images = 0, groups = 1, channels = 0, outs = 0;  // the last two of a group
  int64_t taps = 1, in_plane = 1, out_plane = 1;
  // Of the innermost dim, for each output position and tap: the input position, or kOutside.
  std::vector<int64_t> inner;

  static constexpr int64_t kOutside = std::numeric_limits<int64_t>::min() / 2;
  bool depthwise() const { return channels == 1 && outs == 1; }
  int64_t depth() const { return in_quads(channels); }
};

/// Checks the shapes and sets the output shape of input 0 convolved with input `weights`.
ConvIntegerState prepare_conv_integer(PrepareContext& p, const WindowAttributes& attributes, int64_t groups,
                                      int weights);

/// The weights [M, C / groups, taps...]: packed for products, or for a depthwise convolution.
class ConvIntegerWeights {
 public:
  ConvIntegerWeights() = default;
  /// From a constant input, which is released; empty if it is none. Call in a kernel's constructor.
  ConvIntegerWeights(const NodeView& n, int input, int64_t groups);
  bool empty() const { return bytes_ == nullptr; }

 private:
  friend class ConvInteger;
  struct Shape {
    int64_t groups, outs, channels, taps;
    int64_t panel_bytes() const { return taps * in_quads(channels) * isa::kPanel; }
    int64_t group_bytes() const { return ceil_div(outs, isa::kPanel) * panel_bytes(); }
    bool depthwise() const { return channels == 1 && outs == 1; }
    int64_t bytes() const {
      return depthwise() ? isa::depthwise_bytes(taps, groups) : groups * group_bytes();
    }
  };
  static Shape shape_of(DimsView w, int64_t groups);
  /// `bytes` has Shape::bytes() elements and is 64-byte aligned; `sums`, one per channel, are 0.
  static void pack(TensorView w, const Shape& shape, int8_t* bytes, int32_t* sums);

  const int8_t* bytes_ = nullptr;
  const int32_t* sums_ = nullptr;  // of each output channel
  AlignedList<int8_t> own_bytes_;
  AlignedList<int32_t> own_sums_;
};

/// Sums of consecutive output positions of an image, for consecutive channels.
struct ConvIntegerTile {
  int64_t image = 0, channel = 0, position = 0;
  int64_t positions = 0, channels = 0;
  const int32_t* sums = nullptr;       // [positions, kTileColumns]
  const int32_t* constants = nullptr;  // [channels], to be added to the sums
};

/// One convolution: sums of (x - x_zero) * (w - w_zero[channel]) + bias[channel]. Padding counts as x_zero.
class ConvInteger {
 public:
  static constexpr int64_t kRows = 96;  // positions of a tile

  /// `w_zero` has one element or one per channel. `bias` may be NULL.
  ConvInteger(const Context& ctx, const ConvIntegerState& state, TensorView x, int32_t x_zero, TensorView w,
              TensorView w_zero, const int32_t* bias, const ConvIntegerWeights& weights);

  /// Calls store(tile) for tiles that make up the output, on several threads.
  template <class Store>
  void run(Store&& store) const {
    const int64_t groups = s_.depthwise() ? 1 : s_.groups, outs = s_.depthwise() ? s_.groups : s_.outs;
    const int64_t blocks = ceil_div(s_.out_plane, kRows);
    const int64_t rows = std::min(kRows, ceil_div(ceil_div(s_.out_plane, blocks), 6) * 6);
    const int64_t column_tiles = ceil_div(outs, isa::kTileColumns);
    // Addresses are computed once per piece, so a piece has as many columns as the workers allow.
    const int64_t wanted = 4 * static_cast<int64_t>(ctx_.worker_count());
    const int64_t tasks = std::max<int64_t>(1, s_.images * groups * blocks);
    const int64_t parts = std::min(column_tiles, ceil_div(wanted, tasks));
    const int64_t work =
        std::min(rows, s_.out_plane) * ceil_div(outs, parts) * s_.taps * std::max<int64_t>(1, s_.channels);
    ctx_.parallel_for(
        s_.images * groups * blocks * parts,
        std::max<int64_t>(1, 4 * kGrainFlops / std::max<int64_t>(1, work)),
        [&](uint32_t worker, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t part = i % parts, block = i / parts % blocks, plane = i / parts / blocks;
            const int64_t first = block * rows;
            if (first >= s_.out_plane) continue;
            const Piece piece{plane / groups, plane % groups, first, std::min(rows, s_.out_plane - first)};
            const uint8_t** const addresses = addresses_.of(worker).data();
            find(piece, addresses);
            int32_t row_sums[kRows];
            if (shifted_ && !s_.depthwise()) add_rows(piece, addresses, row_sums);
            const int64_t end_tile = column_tiles * (part + 1) / parts;
            for (int64_t tile = column_tiles * part / parts; tile < end_tile; ++tile) {
              ctx_.check_cancelled();
              const int64_t column = tile * isa::kTileColumns,
                            columns = std::min(isa::kTileColumns, outs - column);
              alignas(64) int32_t sums[kRows * isa::kTileColumns];
              if (s_.depthwise())
                multiply_channels(piece, addresses, column, columns, sums);
              else
                multiply(piece, addresses, row_sums, column, columns, sums);
              const int64_t channel = piece.group * outs + column;
              store(ConvIntegerTile{piece.image, channel, first, piece.rows, columns, sums,
                                    constants_.data() + channel});
            }
          }
        });
  }

 private:
  /// Output positions of one image and group.
  struct Piece {
    int64_t image, group, first, rows;
  };

  void read_weights(TensorView w, const ConvIntegerWeights& weights);
  void read_parameters(TensorView w, TensorView w_zero, const int32_t* bias);
  void copy_input(TensorView x);
  /// The addresses of a piece: [rows, taps].
  void find(const Piece& piece, const uint8_t** addresses) const;
  void add_rows(const Piece& piece, const uint8_t* const* addresses, int32_t* sums) const;
  void multiply(const Piece& piece, const uint8_t* const* addresses, const int32_t* row_sums, int64_t column,
                int64_t columns, int32_t* sums) const;
  void multiply_channels(const Piece& piece, const uint8_t* const* addresses, int64_t column, int64_t columns,
                         int32_t* sums) const;

  const Context& ctx_;
  const ConvIntegerState& s_;
  ConvIntegerWeights::Shape shape_;
  WorkerLists<const uint8_t*> addresses_;
  int64_t step_ = 0;  // bytes from pixel to pixel
  const uint8_t *pixels_ = nullptr, *outside_ = nullptr;
  const int8_t *weights_ = nullptr, *ones_ = nullptr;  // ones: for a depthwise convolution with zero points
  const int32_t* sums_ = nullptr;                      // of the weights of each output channel
  int32_t x_zero_;                                     // moved with the bytes
  bool shifted_ = false;                               // whether a zero point of the weights is not 0
  // Per output channel: the weights' zero point, moved with the bytes; what is added to each sum.
  std::span<int32_t> zeros_, constants_;
};

}  // namespace tenon::cpu
