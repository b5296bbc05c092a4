// RotaryEmbedding: turns pairs of elements of each head by the angle of its position.
//
// Kernel Rotate: (x, cosines, sines, positions, y, flag, batch, heads, length, size, rotated, batch_stride, head_stride, row_stride,
// interleaved, by_position, rows), a work-item for each element: its place in the head, the head, the row of batch and position. A row
// of the caches has rotated / 2 elements; it is `rows` rows long. With by_position, positions name the row; else it is that of the
// same number. Settings: T for x and y, S for the caches.
#ifndef TENON_EP_DEVICE_OPS_ROTARY_EMBEDDING_HPP_
#define TENON_EP_DEVICE_OPS_ROTARY_EMBEDDING_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/indices.hpp"
#include "tenon/ep/device/launch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// Strides are in elements.
struct RotaryState {
  int32_t batch = 1, heads = 1, length = 1, size = 0, rotated = 0;
  int32_t batch_stride = 0, head_stride = 0, row_stride = 0;
  int32_t rows = 0;  // of the caches
};

template <class B>
class RotaryEmbedding {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceRealTypes)
        .input(1, kDeviceRealTypes)
        .input(3, TypeList<int64_t>())
        .that(n.input(1).dtype() == n.input(2).dtype(), TENON_REJECT_TYPE, "caches of two element types");
  }
  explicit RotaryEmbedding(const NodeView& n)
      : is_interleaved_(n.attr_i("interleaved", 0) != 0),
        is_constant_(n.has_input(3) && n.input(3).is_constant()),
        heads_(n.attr_i("num_heads", 0)),
        rotated_(n.attr_i("rotary_embedding_dim", 0)),
        kernel_(
            B::load(n, "Rotate", {computes_in(n.input(0).dtype()), computes_in(n.input(1).dtype(), "S")})) {}

  RotaryState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), cache = p.input(1).dims();
    RotaryState s;
    s.batch = narrow(x[0]);
    if (x.size() == 4) {
      s.heads = narrow(x[1]);
      s.length = narrow(x[2]);
      s.size = s.row_stride = narrow(x[3]);
      s.head_stride = narrow(product_of(s.length, s.size));
    } else {
      require(heads_ > 0 && x[2] % heads_ == 0, TENON_INVALID_ARGUMENT, heads_, " heads for input ", x);
      s.heads = narrow(heads_);
      s.length = narrow(x[1]);
      s.size = s.head_stride = narrow(x[2] / heads_);
      s.row_stride = narrow(x[2]);
    }
    narrow(element_count(x));
    s.batch_stride = narrow(product_of(product_of(s.heads, s.length), s.size));
    s.rotated = rotated_ > 0 ? narrow(rotated_) : s.size;
    require(s.rotated <= s.size && s.rotated % 2 == 0, TENON_INVALID_ARGUMENT, "rotary_embedding_dim is ",
            s.rotated, " for heads of ", s.size);
    const bool by_position = p.has_input(3);
    const bool each_has_its_own = cache.size() == 3 || (s.batch == 1 && cache[0] == s.length);
    require(cache.back() == s.rotated / 2 && (by_position ? cache.size() == 2 : each_has_its_own),
            TENON_INVALID_ARGUMENT, "caches of shape ", cache, " for input ", x);
    s.rows = narrow(element_count(cache.first(cache.size() - 1)));
    require(!by_position || s.rows > 0 || element_count(x) == 0, TENON_OUT_OF_RANGE,
            "a cache without rows cannot be indexed");
    const int64_t rows = s.rows;
    if (is_constant_) require_indices(p.input(3), {&rows, 1});
    p.set_output(0, x);
    return s;
  }
  void record(typename B::Recorder& ctx, const RotaryState& s) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(s.size), static_cast<size_t>(s.heads),
            static_cast<size_t>(s.batch) * static_cast<size_t>(s.length)},
           in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), in(ctx.input(3)), out(ctx.output(0)),
           FlagArg{}, s.batch, s.heads, s.length, s.size, s.rotated, s.batch_stride, s.head_stride,
           s.row_stride, int32_t{is_interleaved_}, int32_t{ctx.has_input(3)}, s.rows);
  }

 private:
  bool is_interleaved_, is_constant_;
  int64_t heads_, rotated_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_ROTARY_EMBEDDING_HPP_
