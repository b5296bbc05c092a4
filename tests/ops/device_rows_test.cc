// tenon/ep/device/rows.hpp: the rows of launches, and the same launches over other rows.
#include <gtest/gtest.h>

#include <tuple>

#include "tenon/ep/device/rows.hpp"

namespace tenon::ep {
namespace {

constexpr Rows kRows[] = {{1, 1, false}, {1, 64, false}, {8, 1, false}, {4, 16, false},
                          {4, 16, true}, {32, 2, true},  {1, 8, true}};

tenon_tensor tensor_there() {
  tenon_tensor out = kNoTensor;
  out.kind = TENON_KIND_TENSOR;
  return out;
}
const tenon_tensor kX = tensor_there(), kY = tensor_there();
const TensorArg kIn{&kX}, kOut{&kY, 0, false, true}, kNone{&kNoTensor};

TEST(DeviceRows, OfAboutTheSameCountAndLengthHaveOneProbe) {
  constexpr size_t kMostOfRow = 1 << 10, kMost = 1 << 12;
  const auto text = [](const Rows& rows) { return text_of(probe_of(rows, kMostOfRow, kMost)); };
  EXPECT_EQ(text({3, 1000, false}), "2x512");
  EXPECT_EQ(text({2, 512, false}), "2x512");
  EXPECT_EQ(text({2, 512, true}), "2x512/across");
  EXPECT_EQ(text({4, 1000, false}), "4x512");
  EXPECT_EQ(text({3, 1024, false}), "2x1024");
  EXPECT_EQ(text({3, 100000, false}), "2x1024") << "long rows are cut";
  EXPECT_EQ(text({1000, 1000, false}), "8x512") << "many rows are cut";
  EXPECT_EQ(text_of(probe_of({5, 3000, false}, 1 << 20, kMost)), "2x2048");
}

TEST(DeviceRows, ProbesAreNeverLargerThanTheRowsNorThanTheirMemory) {
  constexpr size_t kMost = 1 << 20;
  for (const Rows& rows : {Rows{1, 1, false}, Rows{3, 1000, true}, Rows{1, size_t{1} << 28, false},
                           Rows{size_t{1} << 28, 1, false}, Rows{100000, 100000, true}}) {
    for (const size_t most_of_row : {size_t{1} << 14, size_t{1} << 24}) {
      const Rows probe = probe_of(rows, most_of_row, kMost);
      EXPECT_TRUE(probe.count >= 1 && probe.count <= rows.count) << text_of(rows);
      EXPECT_TRUE(probe.length >= 1 && probe.length <= rows.length) << text_of(rows);
      EXPECT_LE(probe.length, most_of_row);
      EXPECT_LE(probe.count * probe.length, kMost);
      EXPECT_EQ(probe.across, rows.across);
    }
  }
}

/// The largest index of a walk into its first operand.
int64_t last_of(const Walk& walk) {
  int64_t out = int64_t{walk.inner - 1} * walk.step[0];
  for (int d = 0; d < walk.rank; ++d) out += int64_t{walk.size[d] - 1} * walk.stride[0][d];
  return out;
}

/// What a family lists for `rows`, given the arguments of another launch.
template <class Family, class... Args>
void expect_lists(const Rows& rows, size_t items, const Args&... args) {
  int calls = 0;
  const auto list = [&](const Size3& size, const auto&... given) {
    ++calls;
    EXPECT_EQ(size[0] * size[1] * size[2], items);
    EXPECT_EQ(text_of(Family::rows_of(given...)), text_of(rows));
    static_assert(std::is_same_v<std::tuple<Args...>, std::tuple<std::decay_t<decltype(given)>...>>);
  };
  Family::list(list, rows, args...);
  EXPECT_EQ(calls, 1);
}

TEST(DeviceRows, LinesLieAcrossIfTheirElementsAreApart) {
  EXPECT_EQ(text_of(Lines::rows_of(kIn, kOut, 2, 5, 1)), "2x5");
  EXPECT_EQ(text_of(Lines::rows_of(kIn, kOut, 2, 5, 3, 1.5f)), "6x5/across");
  for (const Rows& rows : kRows) {
    if (rows.across && rows.count == 1) continue;  // one row has no neighbours
    expect_lists<Lines>(rows, rows.count, kIn, kOut, int32_t{2}, int32_t{5}, int32_t{3}, 1.5f);
  }
}

TEST(DeviceRows, LinesOfNormalisationsHaveAWalkOrNone) {
  const Walk walk{};
  EXPECT_EQ(text_of(DenseLines::rows_of(kIn, kIn, kIn, kOut, kOut, kNone, 7, 9, 1e-5f)), "7x9");
  EXPECT_EQ(text_of(DenseLines::rows_of(kIn, kIn, kIn, kOut, kOut, kNone, walk, 7, 9, 1e-5f)), "7x9");
  for (const Rows& rows : kRows) {
    if (rows.across) continue;
    expect_lists<DenseLines>(rows, rows.count, kIn, kIn, kIn, kOut, kOut, kNone, int32_t{7}, int32_t{9},
                             1e-5f);
    expect_lists<DenseLines>(rows, rows.count, kIn, kIn, kIn, kOut, kOut, kNone, walk, int32_t{7}, int32_t{9},
                             1e-5f);
  }
}

TEST(DeviceRows, ReductionsOverSeveralAxesAreForGroupsThatWalk) {
  const Walk kept = make_walk(Dims{3}, {Dims{4}}), line = make_walk(Dims{4}, {Dims{1}});
  const Walk plane = make_walk(Dims{5, 4}, {Dims{12, 1}}), column = make_walk(Dims{5}, {Dims{12}});
  EXPECT_EQ(text_of(Reductions<true>::rows_of(kIn, kOut, kept, line, 4)), "3x4");
  EXPECT_EQ(text_of(Reductions<false>::rows_of(kIn, kOut, kept, line, 4)), "3x4");
  EXPECT_EQ(text_of(Reductions<true>::rows_of(kIn, kOut, kept, plane, 20)), "3x20");
  EXPECT_EQ(text_of(Reductions<false>::rows_of(kIn, kOut, kept, plane, 20)), "3x0");
  EXPECT_EQ(text_of(Reductions<false>::rows_of(kIn, kOut, kept, column, 5)), "3x5/across");
  for (const Rows& rows : kRows) {
    if (rows.across && rows.count == 1) continue;  // one row has no neighbours
    expect_lists<Reductions<true>>(rows, rows.count, kIn, kOut, kept, plane, int32_t{20});
    expect_lists<Reductions<false>>(rows, rows.count, kIn, kOut, kept, line, int32_t{4});
    const auto stays_inside = [&](const Size3&, const TensorArg&, const TensorArg&, const Walk& of_rows,
                                  const Walk& of_row, int32_t) {
      EXPECT_EQ(last_of(of_rows) + last_of(of_row), static_cast<int64_t>(rows.count * rows.length) - 1);
    };
    Reductions<true>::list(stays_inside, rows, kIn, kOut, kept, plane, 20);
  }
}

TEST(DeviceRows, ArgReductionsKeepWhichOneWins) {
  const Walk kept = make_walk(Dims{3}, {Dims{4}});
  EXPECT_EQ(text_of(ArgReductions::rows_of(kIn, kOut, kept, 4, 1, 1)), "3x4");
  EXPECT_EQ(text_of(ArgReductions::rows_of(kIn, kOut, kept, 4, 3, 1)), "3x4/across");
  for (const Rows& rows : kRows) {
    if (rows.across && rows.count == 1) continue;
    expect_lists<ArgReductions>(rows, rows.count, kIn, kOut, kept, int32_t{4}, int32_t{3}, int32_t{1});
    const auto same = [&](const Size3&, const TensorArg&, const TensorArg&, const Walk& of_rows,
                          int32_t count, int32_t stride, int32_t last) {
      EXPECT_EQ(last, 1);
      EXPECT_EQ(last_of(of_rows) + int64_t{count - 1} * stride,
                static_cast<int64_t>(rows.count * rows.length) - 1);
    };
    ArgReductions::list(same, rows, kIn, kOut, kept, 4, 3, 1);
  }
}

/// The memory of a provider.
struct Piece {
  int number = 0;
};

TEST(DeviceRows, PiecesStandInForTensorsThatAreThere) {
  int calls = 0;
  const auto list = [&](const Size3& items, const Piece& x, const Piece& scale, const Piece& bias,
                        const Piece& y, const Piece& mean, const Piece& inverse, int32_t lines, int32_t count,
                        float epsilon) {
    ++calls;
    EXPECT_EQ(items, (Size3{4, 1, 1}));
    EXPECT_EQ((std::array{x.number, scale.number, bias.number, y.number, mean.number, inverse.number}),
              (std::array{1, 1, 0, 2, 2, 0}));
    EXPECT_EQ((std::array{lines, count}), (std::array{4, 16}));
    EXPECT_EQ(epsilon, 0.5f);
  };
  list_on<DenseLines>(Rows{4, 16, false}, Piece{1}, Piece{2}, list, kIn, kIn, kNone, kOut, kOut, kNone, 7, 9,
                      0.5f);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tenon::ep
