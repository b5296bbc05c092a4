// Kernels that go over rows of a tensor, as reductions, softmax and normalisations do: which rows a launch has, and the same launch
// over other rows, so that its forms can be timed where the tensors of the node are not there yet.
//
// A row is the elements that one result or one line of results needs. A provider may have several forms of such a kernel: one in
// which a work-item does a row, others in which a group does. A `Family` says how kernels with the same arguments go over rows. Two
// static functions take the arguments of launch() (tenon/ep/device/launch.hpp):
//   Rows rows_of(args...)             the rows of that launch
//   void list(list, rows, args...)    calls list(items, args...) for a launch over `rows`: args are as given, except for counts, strides
//                                     and walks, which are those of `rows` in dense tensors
// Indices into tensors other than x and y stay below count * length of the rows.
#ifndef TENON_EP_DEVICE_ROWS_HPP_
#define TENON_EP_DEVICE_ROWS_HPP_

#include <algorithm>
#include <bit>
#include <string>

#include "tenon/ep/device/launch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// The rows of a launch.
struct Rows {
  size_t count = 0;
  size_t length = 0;    // elements of a row; 0: only a work-item can do it
  bool across = false;  // neighbours in memory are of different rows
};

/// Rows that stand for all of about the same count and length, for timing: count and length are rounded down to powers of two, at most
/// `most_of_row` elements each and `most` together. Both limits are powers of two, and `rows` have a length.
inline Rows probe_of(const Rows& rows, size_t most_of_row, size_t most) {
  const size_t length = std::bit_floor(std::min({rows.length, most_of_row, most}));
  return {std::bit_floor(std::min(rows.count, most / length)), length, rows.across};
}

/// "8x1024", or "8x1024/across": count and length. Rows with the same text are alike.
inline std::string text_of(const Rows& rows) {
  return cat(rows.count, "x", rows.length, rows.across ? "/across" : "");
}

/// The family of kernels with the arguments (x, y, outer, count, inner, ...). x and y have the shape [outer, count, inner]; a row is
/// the `count` elements at distance `inner`.
struct Lines {
  template <class... Rest>
  static Rows rows_of(const TensorArg&, const TensorArg&, int32_t outer, int32_t count, int32_t inner,
                      const Rest&...) {
    return {static_cast<size_t>(outer) * static_cast<size_t>(inner), static_cast<size_t>(count), inner != 1};
  }
  template <class List, class... Rest>
  static void list(const List& list, const Rows& rows, const TensorArg& x, const TensorArg& y, int32_t,
                   int32_t, int32_t, const Rest&... rest) {
    const size_t outer = rows.across ? 1 : rows.count, inner = rows.across ? rows.count : 1;
    list({inner, outer, 1}, x, y, static_cast<int32_t>(outer), static_cast<int32_t>(rows.length),
         static_cast<int32_t>(inner), rest...);
  }
};

/// The family of the kernels Lines and LinesAt of tenon/ep/device/ops/normalization.hpp: x and y have the shape [lines, count], and a
/// row is a line. The places of scale and bias stay below those of x: a scale that broadcasts has no more elements.
struct DenseLines {
  template <class... Rest>
  static Rows rows_of(const TensorArg&, const TensorArg&, const TensorArg&, const TensorArg&,
                      const TensorArg&, const TensorArg&, int32_t lines, int32_t count, const Rest&...) {
    return {static_cast<size_t>(lines), static_cast<size_t>(count), false};
  }
  template <class... Rest>
  static Rows rows_of(const TensorArg& x, const TensorArg& scale, const TensorArg& bias, const TensorArg& y,
                      const TensorArg& mean, const TensorArg& inverse, const Walk&, const Rest&... rest) {
    return rows_of(x, scale, bias, y, mean, inverse, rest...);
  }
  template <class List, class... Rest>
  static void list(const List& list, const Rows& rows, const TensorArg& x, const TensorArg& scale,
                   const TensorArg& bias, const TensorArg& y, const TensorArg& mean, const TensorArg& inverse,
                   int32_t, int32_t, const Rest&... rest) {
    list(items_of(static_cast<int64_t>(rows.count)), x, scale, bias, y, mean, inverse,
         static_cast<int32_t>(rows.count), static_cast<int32_t>(rows.length), rest...);
  }
  template <class List, class... Rest>
  static void list(const List& list, const Rows& rows, const TensorArg& x, const TensorArg& scale,
                   const TensorArg& bias, const TensorArg& y, const TensorArg& mean, const TensorArg& inverse,
                   const Walk& walk, int32_t, int32_t, const Rest&... rest) {
    list(items_of(static_cast<int64_t>(rows.count)), x, scale, bias, y, mean, inverse, walk,
         static_cast<int32_t>(rows.count), static_cast<int32_t>(rows.length), rest...);
  }
};

namespace detail {

inline size_t elements_of(const Walk& walk) {
  return static_cast<size_t>(walk.inner) * static_cast<size_t>(walk.outer);
}
/// The walk over the first elements of `rows` in a dense tensor: one row after the other, or side by side if `across`.
inline Walk walk_of_rows(const Rows& rows) {
  const auto count = static_cast<int64_t>(rows.count), length = static_cast<int64_t>(rows.length);
  return make_walk(Dims{count}, {Dims{rows.across ? 1 : length}});
}
/// The walk over the elements of one of them.
inline Walk walk_of_row(const Rows& rows) {
  const auto count = static_cast<int64_t>(rows.count), length = static_cast<int64_t>(rows.length);
  return make_walk(Dims{length}, {Dims{rows.across ? count : 1}});
}

}  // namespace detail

/// The family of the reductions of tenon/ep/device/ops/reduce.hpp: (x, y, kept, reduced, count). A row is the `count` elements of one
/// result. `kGroupsWalk`: whether groups do rows whose elements are not all at one distance, too; else those have the length 0.
template <bool kGroupsWalk>
struct Reductions {
  static Rows rows_of(const TensorArg&, const TensorArg&, const Walk& kept, const Walk& reduced,
                      int32_t count) {
    const bool groups_can = kGroupsWalk || reduced.outer == 1;
    return {detail::elements_of(kept), groups_can ? static_cast<size_t>(count) : 0, reduced.step[0] > 1};
  }
  template <class List>
  static void list(const List& list, const Rows& rows, const TensorArg& x, const TensorArg& y, const Walk&,
                   const Walk&, int32_t) {
    const Walk kept = detail::walk_of_rows(rows);
    list(items_of(kept), x, y, kept, detail::walk_of_row(rows), static_cast<int32_t>(rows.length));
  }
};

/// The family of ArgMax and ArgMin of tenon/ep/device/ops/reduce.hpp: (x, y, kept, count, stride, last). A row is the `count` elements
/// at distance `stride` of one result.
struct ArgReductions {
  static Rows rows_of(const TensorArg&, const TensorArg&, const Walk& kept, int32_t count, int32_t stride,
                      int32_t) {
    return {detail::elements_of(kept), static_cast<size_t>(count), stride > 1};
  }
  template <class List>
  static void list(const List& list, const Rows& rows, const TensorArg& x, const TensorArg& y, const Walk&,
                   int32_t, int32_t, int32_t last) {
    const Walk kept = detail::walk_of_rows(rows);
    list(items_of(kept), x, y, kept, static_cast<int32_t>(rows.length),
         static_cast<int32_t>(rows.across ? rows.count : 1), last);
  }
};

namespace detail {

template <class Piece>
Piece on_piece(const TensorArg& arg, const Piece& read, const Piece& written) {
  if (arg.tensor == nullptr || arg.tensor->kind == TENON_KIND_NONE) return {};
  return arg.writes ? written : read;
}
template <class Piece, class Number>
const Number& on_piece(const Number& number, const Piece&, const Piece&) {
  return number;
}

}  // namespace detail

/// Calls list(items, args...) for the launch of a kernel of `Family` over other rows than those of `args`, on memory of the provider's
/// own: `read` and `written`, its argument for such memory, of probe elements each, stand in for all tensors that are read and written. A
/// missing tensor becomes a Piece{}.
template <class Family, class Piece, class List, class... Args>
void list_on(const Rows& rows, const Piece& read, const Piece& written, const List& list,
             const Args&... args) {
  const auto on_pieces = [&](const Size3& items, const auto&... given) {
    list(items, detail::on_piece(given, read, written)...);
  };
  Family::list(on_pieces, rows, args...);
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_ROWS_HPP_
