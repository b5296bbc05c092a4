// Moves elements of any type: whole bytes, packed types and strings through one interface.
#pragma once

#include <optional>

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// Copies elements [start, start + n) of `from` to elements of `to` from `at` on. Not for strings. Threads
/// may share `to` only when elements take whole bytes.
inline void copy_elements(void* to, int64_t at, TensorView from, int64_t start, int64_t n) {
  const uint32_t bits = dtype_bits(from.dtype());
  if (n == 0) return;
  if (bits >= 8) {
    const int64_t bytes = bits / 8;
    std::memmove(static_cast<char*>(to) + at * bytes, static_cast<const char*>(from.bytes()) + start * bytes,
                 static_cast<size_t>(n * bytes));
    return;
  }
  dispatch(kSmallIntTypes + TypeList<Float4E2M1, Float6E2M3, Float6E3M2>(), from.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < n; ++i) store_element<T>(to, at + i, load_element<T>(from.bytes(), start + i));
  });
}

/// Call before gathering `n` strings in memory that the host does not count: takes scratch memory for their
/// offsets, so that the host applies its limit.
inline void require_texts(const Context& ctx, int64_t n) {
  constexpr int64_t kMany = 1 << 16;
  if (n > kMany) ctx.scratch<int64_t>(n);
}

/// Writes an output front to back in blocks from other tensors of its type. Allocates for strings only.
///   BlockWriter out(ctx, 0);  out.append(a, 0, 5); ...  out.finish();
class BlockWriter {
 public:
  /// For an output whose shape is known.
  BlockWriter(const Context& ctx, int output)
      : BlockWriter(ctx, output, ctx.output(output).dims(), ctx.output(output).dtype()) {}
  /// `dims` must outlive the writer.
  BlockWriter(const Context& ctx, int output, DimsView dims, uint32_t dtype)
      : ctx_(ctx), output_(output), dims_(dims), dtype_(dtype), point_(ctx) {
    if (dtype == TENON_STRING) {
      require_texts(ctx, element_count(dims));
      strings_.emplace();
    } else {
      data_ = ctx.output(output).bytes();
    }
  }
  void append(TensorView from, int64_t start, int64_t n) {
    if (strings_) {
      for (int64_t i = 0; i < n; ++i) point_.pass(), strings_->add(from.string(start + i));
    } else {
      copy_elements(data_, at_, from, start, n);
      at_ += n;
    }
  }
  /// Appends element `i` `n` times.
  void repeat(TensorView from, int64_t i, int64_t n) {
    const int64_t bytes = strings_ ? 0 : dtype_bits(dtype_) / 8;
    if (bytes == 0) {
      for (int64_t k = 0; k < n; ++k) point_.pass(), append(from, i, 1);
      return;
    }
    if (n == 0) return;
    point_.pass(n);
    char* const first = static_cast<char*>(data_) + at_ * bytes;
    append(from, i, 1);
    // Each copy doubles what is there.
    for (int64_t done = 1; done < n; done = std::min(2 * done, n))
      std::memcpy(first + done * bytes, first, static_cast<size_t>(std::min(done, n - done) * bytes));
    at_ += n - 1;
  }
  /// Appends zeros or empty strings.
  void zeros(int64_t n) {
    alignas(16) static constexpr unsigned char kZero[16] = {};
    static constexpr int64_t kNoBytes[] = {0, 0};
    tenon_tensor zero{};
    zero.kind = TENON_KIND_TENSOR;
    zero.dtype = dtype_;
    zero.data = const_cast<unsigned char*>(kZero);
    zero.offsets = kNoBytes;
    repeat(TensorView(&zero), 0, n);
  }
  void finish() {
    if (strings_) ctx_.set_strings(output_, dims_, *strings_);
  }

 private:
  const Context& ctx_;
  int output_;
  DimsView dims_;
  uint32_t dtype_;
  CancelPoint<Context> point_;
  std::optional<StringBuilder> strings_;
  void* data_ = nullptr;
  int64_t at_ = 0;
};

/// output[i] = from[source(i)] for every element of any type, in parallel if the type allows it.
template <class F>
void gather_elements(const Context& ctx, int output, DimsView dims, TensorView from, F&& source) {
  const int64_t n = element_count(dims);
  if (from.dtype() == TENON_STRING) {
    require_texts(ctx, n);
    StringBuilder strings;
    CancelPoint point(ctx);
    for (int64_t i = 0; i < n; ++i) point.pass(), strings.add(from.string(source(i)));
    return ctx.set_strings(output, dims, strings);
  }
  void* to = ctx.output(output).bytes();
  if (dtype_bits(from.dtype()) < 8) {
    for (int64_t i = 0; i < n; ++i) copy_elements(to, i, from, source(i), 1);
    return;
  }
  dispatch_size(from.dtype(), [&]<class T>() {
    const T* in = from.data<T>();
    ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) static_cast<T*>(to)[i] = in[source(i)];
    });
  });
}

/// Gives the output the bytes of input `i`. Copies nothing if the host honoured the VIEW hint.
inline void copy_or_view(const Context& ctx, int output, int input) {
  const TensorView in = ctx.input(input);
  if (in.dtype() == TENON_STRING) {
    StringBuilder strings;
    const int64_t n = in.size();
    for (int64_t i = 0; i < n; ++i) strings.add(in.string(i));
    return ctx.set_strings(output, ctx.output(output).dims(), strings);
  }
  const OutputTensor out = ctx.output(output);
  if (out.bytes() == in.bytes() || in.byte_size() == 0) return;
  ctx.parallel_for(in.byte_size(), int64_t{1} << 18, [&](int64_t begin, int64_t end) {
    std::memcpy(out.data<char>() + begin, in.data<char>() + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace tenon::cpu
