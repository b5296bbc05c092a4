// Reductions, softmax and normalisations over rows that are long, or of lengths that no group of workers divides. What is
// expected is computed in float64 here.
#include <algorithm>
#include <numeric>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

using Row = std::vector<float>;
using Rows = std::vector<Row>;

/// Halves of both signs whose sums are exact. Elements at the ends of what groups of 4 to 256 workers take are larger, so that
/// each of them weighs in a softmax.
Row row_of(int64_t length, int64_t number = 0) {
  Row out;
  for (int64_t i = 0; i < length; ++i) out.push_back(static_cast<float>((i * 7 + number * 3) % 11 - 5) / 2);
  for (const int64_t i : {int64_t{3}, int64_t{63}, int64_t{64}, int64_t{255}, int64_t{256}, length - 1})
    out[static_cast<size_t>(i)] = 9 - static_cast<float>(number);
  return out;
}
Rows rows_of(int64_t count, int64_t length) {
  Rows out;
  for (int64_t r = 0; r < count; ++r) out.push_back(row_of(length, r));
  return out;
}
/// Rows with something in the middle of the second.
Rows rows_with(float special) {
  Rows out = rows_of(3, 1000);
  out[1][700] = special;
  return out;
}

/// Rows one after the other: {count, length}.
Tensor along(const Rows& rows) {
  std::vector<float> all;
  for (const Row& row : rows) all.insert(all.end(), row.begin(), row.end());
  return f32({static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())}, all);
}
/// Rows next to each other: {length, count}.
Tensor across(const Rows& rows) {
  std::vector<float> all;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    for (const Row& row : rows) all.push_back(row[i]);
  }
  return f32({static_cast<int64_t>(rows[0].size()), static_cast<int64_t>(rows.size())}, all);
}

template <class Function>
double sum_of(const Row& row, Function&& f) {
  return std::accumulate(row.begin(), row.end(), 0.0, [&](double sum, float v) { return sum + f(v); });
}
double largest(const Row& row) {
  double out = -HUGE_VAL;
  for (const float v : row) out = std::isnan(v) || v > out ? v : out;
  return out;
}

/// Rows for a reduction, each to the number that `f` makes of it.
template <class Function>
std::vector<OpCase> reductions(Function&& f) {
  std::vector<OpCase> out;
  const auto add = [&](const std::string& name, const Rows& rows, bool is_across) {
    std::vector<float> wanted;
    for (const Row& row : rows) wanted.push_back(static_cast<float>(f(row)));
    const auto count = static_cast<int64_t>(rows.size());
    out.push_back({name,
                   {is_across ? across(rows) : along(rows), constant(i64({1}, {is_across ? 0 : 1}))},
                   {f32(is_across ? Dims{1, count} : Dims{count, 1}, wanted)}});
  };
  add("long", rows_of(3, 1000), false);
  add("long_one", rows_of(1, 1301), false);
  add("long_across", rows_of(3, 1000), true);
  add("long_nan", rows_with(kNan), false);
  add("long_infinite", rows_with(-kInf), false);
  return out;
}

/// Rows for an operator that makes rows of rows, `axis` being the attribute.
template <class Function>
std::vector<OpCase> mapped(Function&& f, std::vector<Attribute> attributes = {}, bool takes_nan = true) {
  std::vector<OpCase> out;
  const auto add = [&](const std::string& name, const Rows& rows, bool is_across) {
    Rows wanted;
    for (const Row& row : rows) wanted.push_back(f(row));
    std::vector<Attribute> all = attributes;
    all.push_back({"axis", int64_t{is_across ? 0 : -1}});
    out.push_back(
        {name, {is_across ? across(rows) : along(rows)}, {is_across ? across(wanted) : along(wanted)}, all});
  };
  add("long", rows_of(3, 1000), false);
  add("long_one", rows_of(1, 4097), false);
  add("long_across", rows_of(3, 1000), true);
  if (takes_nan) add("long_nan", rows_with(kNan), false);
  add("long_masked", rows_with(-kInf), false);
  return out;
}

template <class Function>
Row each(const Row& row, Function&& f) {
  Row out;
  for (const float v : row) out.push_back(static_cast<float>(f(v)));
  return out;
}
Row softmax(const Row& row) {
  const double top = largest(row), sum = sum_of(row, [&](float v) { return std::exp(v - top); });
  return each(row, [&](float v) { return std::exp(v - top) / sum; });
}
Row log_softmax(const Row& row) {
  const double top = largest(row), sum = sum_of(row, [&](float v) { return std::exp(v - top); });
  return each(row, [&](float v) { return v - top - std::log(sum); });
}
Row hardmax(const Row& row) {
  bool found = false;
  const double top = largest(row);
  return each(row, [&](float v) { return !std::exchange(found, found || v == top) && v == top; });
}

OP_CASES(Softmax, 13, mapped(softmax))
OP_CASES(LogSoftmax, 13, mapped(log_softmax))
OP_CASES(Hardmax, 13, mapped(hardmax, {}, false))
OP_CASES(Softmax, 13,
         {{"long_half", {f16({1, 1000}, row_of(1000))}, {f16({1, 1000}, softmax(row_of(1000)))}}})

OP_CASES(ReduceSum, 13, reductions([](const Row& row) { return sum_of(row, [](float v) { return v; }); }))
OP_CASES(ReduceMean, 18, reductions([](const Row& row) {
           return sum_of(row, [](float v) { return v; }) / static_cast<double>(row.size());
         }))
OP_CASES(ReduceSumSquare, 18,
         reductions([](const Row& row) { return sum_of(row, [](float v) { return v * v; }); }))
OP_CASES(ReduceL1, 18,
         reductions([](const Row& row) { return sum_of(row, [](float v) { return std::fabs(v); }); }))
OP_CASES(ReduceL2, 18,
         reductions([](const Row& row) { return std::sqrt(sum_of(row, [](float v) { return v * v; })); }))
OP_CASES(ReduceLogSumExp, 18, reductions([](const Row& row) {
           const double top = largest(row);
           return top + std::log(sum_of(row, [&](float v) { return std::exp(v - top); }));
         }))
OP_CASES(ReduceMax, 18, reductions(largest))
OP_CASES(ReduceMin, 18,
         reductions([](const Row& row) { return -largest(each(row, [](float v) { return -v; })); }))

Row positive(const Row& row) {
  return each(row, [](float v) { return std::fabs(v) + 1; });
}
OP_CASES(ReduceLogSum, 18,
         {{"long",
           {along({positive(row_of(1301))}), constant(i64({1}, {1}))},
           {f32({1, 1},
                {static_cast<float>(std::log(sum_of(positive(row_of(1301)), [](float v) { return v; })))})}}})

/// Ones, but for numbers whose product is -24.
Row factors() {
  Row out(1301, 1.0f);
  out[5] = -2, out[700] = 3, out[1300] = 4;
  return out;
}
OP_CASES(ReduceProd, 18,
         {{"long", {along({factors(), Row(1301, 1.0f)}), constant(i64({1}, {1}))}, {f32({2, 1}, {-24, 1})}},
          {"long_across",
           {across({factors(), Row(1301, 1.0f)}), constant(i64({1}, {0}))},
           {f32({1, 2}, {-24, 1})}}})

/// The first row has its largest number twice, the second NaN twice, the third nothing but one number.
Rows with_ties() {
  Rows out = rows_of(2, 4097);
  out.push_back(Row(4097, -kInf));
  out[0][70] = out[0][4000] = 50;
  out[1][300] = out[1][4001] = kNan;
  return out;
}
/// The same with other signs: for ArgMin.
Rows negated(Rows rows) {
  for (Row& row : rows) row = each(row, [](float v) { return -v; });
  return rows;
}
const Attribute kAlong{"axis", int64_t{1}}, kAcross{"axis", int64_t{0}},
    kLast{"select_last_index", int64_t{1}};
OP_CASES(ArgMax, 13,
         {{"long", {along(with_ties())}, {i64({3, 1}, {70, 300, 0})}, {kAlong}},
          {"long_last", {along(with_ties())}, {i64({3, 1}, {4000, 4001, 4096})}, {kAlong, kLast}},
          {"long_across", {across(with_ties())}, {i64({1, 3}, {70, 300, 0})}, {kAcross}}})
OP_CASES(ArgMin, 13,
         {{"long", {along(negated(with_ties()))}, {i64({3, 1}, {70, 300, 0})}, {kAlong}},
          {"long_last", {along(negated(with_ties()))}, {i64({3, 1}, {4000, 4001, 4096})}, {kAlong, kLast}}})

/// Pairs of halves around a mean, so that the mean and the squares are exact.
Row balanced(int64_t length, int64_t number = 0) {
  Row out(static_cast<size_t>(length), static_cast<float>(number + 1));
  for (size_t i = 0; i + 1 < out.size(); i += 2) {
    const float half = static_cast<float>(i * 7 % 11) / 2;
    out[i] += half;
    out[i + 1] -= half;
  }
  return out;
}
Rows balanced_rows(int64_t count, int64_t length) {
  Rows out;
  for (int64_t r = 0; r < count; ++r) out.push_back(balanced(length, r));
  return out;
}

struct Statistics {
  double mean, inverse;
};
/// `keeps_mean`: as if the mean were 0.
Statistics statistics_of(const Row& row, bool keeps_mean = false) {
  const auto n = static_cast<double>(row.size());
  const double mean = keeps_mean ? 0 : sum_of(row, [](float v) { return v; }) / n;
  return {mean, 1 / std::sqrt(sum_of(row, [&](float v) { return (v - mean) * (v - mean); }) / n + 1e-5)};
}
Row normalised(const Row& row, const Row& scale, const Row& bias, bool keeps_mean = false) {
  const Statistics s = statistics_of(row, keeps_mean);
  Row out;
  for (size_t i = 0; i < row.size(); ++i)
    out.push_back(static_cast<float>((row[i] - s.mean) * s.inverse * scale[i] + bias[i]));
  return out;
}
Row ramp(int64_t length, float from) {
  Row out;
  for (int64_t i = 0; i < length; ++i) out.push_back(from + static_cast<float>(i % 5));
  return out;
}

std::vector<OpCase> layers() {
  const Rows rows = balanced_rows(3, 1000);
  const Row scale = ramp(1000, 1), bias = ramp(1000, -2), one(1000, 2.0f), none(1000, 0.0f);
  Rows scaled, uniform;
  std::vector<float> means, inverses;
  for (const Row& row : rows) {
    scaled.push_back(normalised(row, scale, bias));
    uniform.push_back(normalised(row, one, none));
    means.push_back(static_cast<float>(statistics_of(row).mean));
    inverses.push_back(static_cast<float>(statistics_of(row).inverse));
  }
  Rows with_nan = rows, poisoned = scaled;
  with_nan[1][700] = kNan;
  poisoned[1] = Row(1000, kNan);
  return {
      {"long", {along(rows), f32({1000}, scale), f32({1000}, bias)}, {along(scaled)}},
      {"long_nan", {along(with_nan), f32({1000}, scale), f32({1000}, bias)}, {along(poisoned)}},
      {"long_statistics",
       {along(rows), f32({1}, {2})},
       {along(uniform), f32({3, 1}, means), f32({3, 1}, inverses)}},
  };
}
OP_CASES(LayerNormalization, 17, layers())
OP_CASES(RMSNormalization, 23,
         {{"long",
           {along({balanced(1301)}), f32({1301}, ramp(1301, 1))},
           {along({normalised(balanced(1301), ramp(1301, 1), Row(1301, 0.0f), true)})}}})

Tensor reshaped(Tensor tensor, Dims dims) {
  tensor.dims = std::move(dims);
  return tensor;
}
OP_CASES(InstanceNormalization, 6,
         {{"long",
           {reshaped(along(balanced_rows(2, 4097)), {1, 2, 4097}), f32({2}, {2, 3}), f32({2}, {0, 1})},
           {reshaped(along({normalised(balanced(4097), Row(4097, 2.0f), Row(4097, 0.0f)),
                            normalised(balanced(4097, 1), Row(4097, 3.0f), Row(4097, 1.0f))}),
                     {1, 2, 4097})}}})

/// A number for each of two channels of 501.
Row of_channels(float first, float second) {
  Row out(501, first);
  out.resize(1002, second);
  return out;
}
OP_CASES(GroupNormalization, 21,
         {{"long",
           {reshaped(along(balanced_rows(2, 1002)), {1, 4, 501}), f32({4}, {1, 2, 3, 4}),
            f32({4}, {0, 1, 0, 1})},
           {reshaped(along({normalised(balanced(1002), of_channels(1, 2), of_channels(0, 1)),
                            normalised(balanced(1002, 1), of_channels(3, 4), of_channels(0, 1))}),
                     {1, 4, 501})},
           {{"num_groups", int64_t{2}}}}})

Row over_l1(const Row& row) {
  const double norm = sum_of(row, [](float v) { return std::fabs(v); });
  return each(row, [&](float v) { return v / norm; });
}
Row over_l2(const Row& row) {
  const double norm = std::sqrt(sum_of(row, [](float v) { return v * v; }));
  return each(row, [&](float v) { return v / norm; });
}
OP_CASES(LpNormalization, 1,
         {{"long_l1",
           {along(rows_of(2, 4097))},
           {along({over_l1(row_of(4097)), over_l1(row_of(4097, 1))})},
           {{"p", int64_t{1}}}},
          {"long_l2_across",
           {across(rows_of(2, 4097))},
           {across({over_l2(row_of(4097)), over_l2(row_of(4097, 1))})},
           {{"axis", int64_t{0}}}}})

/// The running sums of rows, of all elements so far or of those before; `back`: from the end.
Rows running_sums(const Rows& rows, bool exclusive, bool back) {
  Rows out = rows;
  for (Row& row : out) {
    if (back) std::reverse(row.begin(), row.end());
    float sum = 0;
    for (float& v : row) {
      const float before = sum;
      sum += v;
      v = exclusive ? before : sum;
    }
    if (back) std::reverse(row.begin(), row.end());
  }
  return out;
}

OP_CASES(
    CumSum, 14,
    {{"long", {along(rows_of(3, 1000)), i64({}, {1})}, {along(running_sums(rows_of(3, 1000), false, false))}},
     {"long_columns",
      {across(rows_of(3, 300)), i64({}, {0})},
      {across(running_sums(rows_of(3, 300), false, false))}},
     {"long_before",
      {along(rows_of(2, 513)), i64({}, {-1})},
      {along(running_sums(rows_of(2, 513), true, false))},
      {{"exclusive", int64_t{1}}}},
     {"long_back",
      {along(rows_of(2, 512)), i64({}, {-1})},
      {along(running_sums(rows_of(2, 512), false, true))},
      {{"reverse", int64_t{1}}}},
     {"long_before_back",
      {across(rows_of(40, 300)), i64({}, {0})},
      {across(running_sums(rows_of(40, 300), true, true))},
      {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}}})

/// Factors 3, 5, -7, 3, 5, ... or their running products, modulo 2^32.
Tensor factors(int64_t count, bool multiplied) {
  std::vector<int64_t> out;
  uint32_t product = 1;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t factor = i % 3 == 0 ? 3 : i % 3 == 1 ? 5 : -7;
    product *= static_cast<uint32_t>(factor);
    out.push_back(multiplied ? static_cast<int32_t>(product) : factor);
  }
  return i32({count}, out);
}

OP_CASES(CumProd, 26, {{"long", {factors(600, false), i64({}, {0})}, {factors(600, true)}}})

}  // namespace
}  // namespace tenon::test
