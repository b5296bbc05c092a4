#include "tenon/ep/workspace.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tenon::ep {
namespace {

TEST(Workspace, PiecesOfDifferentTimesShareMemory) {
  Piece a{100, 0, 1, 0}, b{100, 2, 3, 0}, c{64, 1, 2, 0};
  EXPECT_EQ(place_pieces({&a, &b, &c}), 128u + 64u);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_NE(c.offset, a.offset);
}

TEST(Workspace, NothingNeedsNothing) { EXPECT_EQ(place_pieces({}), 0u); }

TEST(Workspace, NoTwoLivePiecesOverlap) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Piece> pieces(1 + random() % 40);
    std::vector<Piece*> pointers;
    uint64_t sum = 0;
    for (Piece& piece : pieces) {
      piece.bytes = random() % 1000;
      piece.first = static_cast<int>(random() % 20);
      piece.last = piece.first + static_cast<int>(random() % 6);
      sum += (piece.bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
      pointers.push_back(&piece);
    }
    const uint64_t total = place_pieces(pointers);
    EXPECT_LE(total, sum);
    for (const Piece& a : pieces) {
      EXPECT_EQ(a.offset % kWorkspaceAlignment, 0u);
      EXPECT_LE(a.offset + a.bytes, total);
      for (const Piece& b : pieces) {
        if (&a == &b || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::ep
