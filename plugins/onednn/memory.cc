#include "memory.h"

#include <algorithm>

namespace tenon::onednn {
namespace {

uint64_t aligned(uint64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// The lowest offset of a gap among `placed`, sorted by offset, that fits `piece`.
uint64_t lowest_gap(const Piece& piece, const std::vector<const Piece*>& placed) {
  uint64_t at = 0;
  for (const Piece* other : placed) {
    if (other->last < piece.first || piece.last < other->first) continue;
    if (at + aligned(piece.bytes) <= other->offset) break;
    at = std::max(at, other->offset + aligned(other->bytes));
  }
  return at;
}

}  // namespace

uint64_t place(std::vector<Piece*> pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece* a, const Piece* b) { return a->bytes > b->bytes; });
  std::vector<const Piece*> placed;
  uint64_t total = 0;
  for (Piece* piece : pieces) {
    piece->offset = lowest_gap(*piece, placed);
    total = std::max(total, piece->offset + aligned(piece->bytes));
    const auto after = [](const Piece* a, const Piece* b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), piece, after), piece);
  }
  return total;
}

}  // namespace tenon::onednn
