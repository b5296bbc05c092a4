// Places values that live between the tasks of a program in one workspace, which the host allocates. Pieces that do not live at
// the same time share memory.
#ifndef TENON_EP_WORKSPACE_HPP_
#define TENON_EP_WORKSPACE_HPP_

#include <algorithm>
#include <cstdint>
#include <vector>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// A piece of workspace in use from task `first` to task `last`, inclusive.
struct Piece {
  uint64_t bytes = 0;
  int first = 0, last = 0;
  uint64_t offset = 0;  // set by place_pieces()
};

/// Offsets are multiples of this; the workspace needs the same alignment.
inline constexpr uint64_t kWorkspaceAlignment = 64;

namespace detail {

inline uint64_t aligned_bytes(const Piece& piece) {
  return (piece.bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// The lowest offset of a gap among `placed`, sorted by offset, that fits `piece`.
inline uint64_t lowest_gap(const Piece& piece, const std::vector<const Piece*>& placed) {
  uint64_t at = 0;
  for (const Piece* other : placed) {
    if (other->last < piece.first || piece.last < other->first) continue;
    if (at + aligned_bytes(piece) <= other->offset) break;
    at = std::max(at, other->offset + aligned_bytes(*other));
  }
  return at;
}

}  // namespace detail

/// Sets the offsets, largest pieces first; pieces that live at the same time do not overlap. Returns the workspace's size in
/// bytes. The same pieces give the same offsets.
inline uint64_t place_pieces(std::vector<Piece*> pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece* a, const Piece* b) { return a->bytes > b->bytes; });
  std::vector<const Piece*> placed;
  uint64_t total = 0;
  for (Piece* piece : pieces) {
    piece->offset = detail::lowest_gap(*piece, placed);
    total = std::max(total, piece->offset + detail::aligned_bytes(*piece));
    const auto after = [](const Piece* a, const Piece* b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), piece, after), piece);
  }
  return total;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_WORKSPACE_HPP_
