// llvmpipe ends the loops of a work-item without an error. Work-items that do several elements must not reach that end.
#include "tests/fusions/as_cpu.h"

namespace tenon::test {
namespace {

TEST(VulkanLoops, ManyTilesOfADeepProductAreWhole) {
  // So deep that a work-item may do few tiles, and so large that it would do many.
  constexpr int64_t kRows = 1024, kDepth = 16001, kColumns = 512;
  GraphMaker m;
  const auto a = m.input("a", GraphMaker::f32({kRows, kDepth})),
             b = m.input("b", GraphMaker::f32({kDepth, kColumns}));
  m.output(m.node("MatMul", {a, b}), "y");
  const std::vector<float> ones(static_cast<size_t>(kDepth * kColumns), 1);
  std::vector<float> left(static_cast<size_t>(kRows * kDepth));
  for (size_t i = 0; i < left.size(); ++i) left[i] = static_cast<float>(i % 7) - 2;
  const auto session = make_session(m.bytes(), mine_then_cpu());
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(parts_of(*session), (std::vector<size_t>{1}));
  const auto got =
      floats(run(*session, {{"a", f32({kRows, kDepth}, left)}, {"b", f32({kDepth, kColumns}, ones)}})[0]);
  ASSERT_EQ(got.size(), static_cast<size_t>(kRows * kColumns));
  for (int64_t row = 0; row < kRows; ++row) {
    int64_t sum = 0;  // of whole numbers, and so exact
    for (int64_t k = 0; k < kDepth; ++k) sum += (row * kDepth + k) % 7 - 2;
    for (int64_t column = 0; column < kColumns; ++column)
      ASSERT_EQ(got[static_cast<size_t>(row * kColumns + column)], static_cast<float>(sum))
          << row << ", " << column;
  }
}

}  // namespace
}  // namespace tenon::test
