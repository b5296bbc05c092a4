// Kernels whose loops take several elements at a time: lengths around whole registers, special values in each
// position, axes of every place. What is expected is computed in float64 here, element by element.
#include <cmath>
#include <functional>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

constexpr int64_t kLengths[] = {0, 1, 15, 16, 17, 33};

/// Quarters of both signs, whose sums are exact.
float quarter(int64_t i) { return static_cast<float>((i * 7 + i / 11) % 23 - 11) / 4; }
std::vector<float> quarters(int64_t n) {
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(quarter(i));
  return out;
}
int64_t count_of(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t dim : dims) n *= dim;
  return n;
}
Tensor quarters_in(const Dims& dims) { return f32(dims, quarters(count_of(dims))); }

std::vector<OpCase> unary(const std::function<double(double)>& f, std::vector<float> specials,
                          const std::vector<Attribute>& attributes) {
  std::vector<OpCase> out;
  const auto add = [&](const std::string& name, const std::vector<float>& x) {
    std::vector<float> y;
    for (const float v : x) y.push_back(static_cast<float>(f(static_cast<double>(v))));
    const Dims dims = {static_cast<int64_t>(x.size())};
    out.push_back({name, {f32(dims, x)}, {f32(dims, y)}, attributes});
  };
  for (const int64_t n : kLengths) add("length_" + std::to_string(n), quarters(n));
  for (const size_t at : {size_t{0}, size_t{16}, size_t{32}}) {
    std::vector<float> x = quarters(33);
    for (size_t i = 0; i < specials.size(); ++i) x[(at + i) % x.size()] = specials[i];
    add("specials_at_" + std::to_string(at), x);
  }
  return out;
}

OP_CASES(
    Gelu, 20,
    unary([](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); },
          {kNan, kInf, -0.0f, 30, -30, 1e-30f}, {{"approximate", std::string("tanh")}}))

/// More elements than loops take together, at all distances between low and high, and a part of what they take.
std::vector<OpCase> sweeps(const std::function<double(double)>& f, double low, double high) {
  std::vector<OpCase> out;
  for (const int64_t n : {int64_t{43}, int64_t{2011}}) {
    std::vector<float> x, y;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(
          static_cast<float>(low + (high - low) * static_cast<double>(i) / static_cast<double>(n - 1)));
      y.push_back(static_cast<float>(f(static_cast<double>(x.back()))));
    }
    out.push_back({"sweep_" + std::to_string(n), {f32({n}, x)}, {f32({n}, y)}});
  }
  return out;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

OP_CASES(Exp, 13, sweeps([](double x) { return std::exp(x); }, -87, 88))
OP_CASES(Tanh, 13, sweeps([](double x) { return std::tanh(x); }, -22, 23))
OP_CASES(Sigmoid, 13, sweeps(sigmoid, -87, 95))
OP_CASES(Erf, 13, sweeps([](double x) { return std::erf(x); }, -5, 6))
OP_CASES(Gelu, 20, sweeps([](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, -14, 9))
OP_CASES(Swish, 24, sweeps([](double x) { return x * sigmoid(x); }, -100, 95))

std::vector<OpCase> powers() {
  std::vector<OpCase> out;
  const std::vector<float> specials = {kNan,   kInf,    -kInf, 0.0f,   -0.0f, 1,    -1,
                                       1e-30f, -1e-30f, 3e38f, -3e38f, 0.5f,  -0.5f};
  const auto add = [&](const std::string& name, const std::vector<float>& x, const std::vector<float>& e) {
    std::vector<float> y;
    const size_t n = e.size() == 1 ? x.size() : e.size();
    for (size_t i = 0; i < n; ++i)
      y.push_back(static_cast<float>(std::pow(static_cast<double>(x[x.size() == 1 ? 0 : i]),
                                              static_cast<double>(e[e.size() == 1 ? 0 : i]))));
    const auto size = [](const std::vector<float>& v) { return Dims{static_cast<int64_t>(v.size())}; };
    out.push_back({name, {f32(size(x), x), f32(size(e), e)}, {f32(size(y), y)}});
  };
  const std::pair<const char*, float> exponents[] = {{"0", 0},
                                                     {"1", 1},
                                                     {"2", 2},
                                                     {"3", 3},
                                                     {"half", 0.5f},
                                                     {"minus_half", -0.5f},
                                                     {"minus_1", -1},
                                                     {"minus_3", -3},
                                                     {"7_thirds", 7.0f / 3},
                                                     {"4", 4},
                                                     {"2_to_24", 16777216},
                                                     {"nan", kNan}};
  for (const auto& [name, e] : exponents) {
    std::vector<float> x = quarters(33);
    x.insert(x.begin() + 9, specials.begin(), specials.end());
    add(std::string("exponent_") + name, x, {e});
  }
  for (const int64_t n : kLengths) add("length_" + std::to_string(n), quarters(n), {2.5f});
  std::vector<float> bases, all;
  for (const float x : specials) {
    for (const float e : {0.0f, -0.0f, 1.0f, -3.0f, 2.0f, 0.75f, -2.5f, kNan, 33554432.0f, 129.0f})
      bases.push_back(x), all.push_back(e);
  }
  add("pairs", bases, all);
  add("one_base", {1.75f}, quarters(33));
  std::vector<float> tiny, up;
  for (int i = 0; i < 40; ++i)
    tiny.push_back(static_cast<float>(std::ldexp(1.3, -126 + i % 3))),
        up.push_back(static_cast<float>(1 + i % 9) / 8);
  add("small_bases", tiny, up);
  std::vector<float> cubes;
  for (const float v : quarters(300)) cubes.push_back(v * v * v);
  out.push_back({"int64_exponent", {quarters_in({300}), i64({}, {3})}, {f32({300}, cubes)}});
  return out;
}
OP_CASES(Pow, 15, powers())

std::vector<OpCase> rms_normalizations() {
  std::vector<OpCase> out;
  for (const int64_t n : {1, 17, 300}) {
    for (const bool is_one_scale : {false, true}) {
      const int64_t rows = 3;
      std::vector<float> x = quarters(rows * n), scale, y;
      x[0] = 1;
      for (int64_t i = 0; i < (is_one_scale ? 1 : n); ++i) scale.push_back(static_cast<float>(i % 5) - 1.5f);
      for (int64_t r = 0; r < rows; ++r) {
        double squares = 0;
        for (int64_t i = 0; i < n; ++i)
          squares += static_cast<double>(x[static_cast<size_t>(r * n + i)]) *
                     static_cast<double>(x[static_cast<size_t>(r * n + i)]);
        for (int64_t i = 0; i < n; ++i)
          y.push_back(
              static_cast<float>(static_cast<double>(x[static_cast<size_t>(r * n + i)]) /
                                 std::sqrt(squares / static_cast<double>(n) + 1e-5) *
                                 static_cast<double>(scale[is_one_scale ? 0 : static_cast<size_t>(i)])));
      }
      out.push_back({(is_one_scale ? "one_scale_" : "length_") + std::to_string(n),
                     {f32({rows, n}, x), f32({is_one_scale ? 1 : n}, scale)},
                     {f32({rows, n}, y)}});
    }
  }
  return out;
}
OP_CASES(RMSNormalization, 23, rms_normalizations())

// ---- Reductions ----

/// Folds the elements of `axes` in order, and keeps these dims as 1.
OpCase reduction(std::string name, const Tensor& x, const std::vector<float>& values, const Ints& axes,
                 const std::function<double(const std::vector<double>&)>& fold) {
  Dims kept = x.dims;
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  std::vector<std::vector<double>> lists(static_cast<size_t>(count_of(kept)));
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i, to = 0, step = 1;
    for (size_t d = x.dims.size(); d-- > 0;) {
      const size_t at = rest % static_cast<size_t>(x.dims[d]);
      rest /= static_cast<size_t>(x.dims[d]);
      if (kept[d] != 1) to += at * step;
      step *= static_cast<size_t>(kept[d]);
    }
    lists[to].push_back(static_cast<double>(values[i]));
  }
  std::vector<float> wanted;
  for (const std::vector<double>& list : lists) wanted.push_back(static_cast<float>(fold(list)));
  return {
      std::move(name), {x, constant(i64({static_cast<int64_t>(axes.size())}, axes))}, {f32(kept, wanted)}};
}

std::vector<OpCase> reductions(const std::function<double(const std::vector<double>&)>& fold,
                               const Ints& lengths = {33}) {
  std::vector<OpCase> out;
  const auto add = [&](const Dims& dims, const Ints& axes, float special = 0) {
    std::vector<float> values = quarters(count_of(dims));
    std::string name = special == 0          ? "dims"
                       : std::isnan(special) ? "nan"
                       : special > 0         ? "infinite"
                                             : "minus_infinite";
    if (special != 0) values[values.size() / 2] = special;
    for (const int64_t dim : dims) name += "_" + std::to_string(dim);
    name += "_axes";
    for (const int64_t axis : axes) name += "_" + std::to_string(axis);
    out.push_back(reduction(name, f32(dims, values), values, axes, fold));
  };
  for (const int64_t n : lengths) {
    add({3, n}, {1});
    add({n, 3}, {0});
    add({2, n, 5}, {1});
    add({2, 3, n, 2}, {0, 2});
    add({2, 3, 2, n}, {0, 2});
  }
  for (const float special : {kNan, kInf, -kInf}) {
    add({3, 37}, {1}, special);
    add({5, 37}, {0}, special);
  }
  add({2, 65537}, {1});
  return out;
}
double sum_of(const std::vector<double>& list, const std::function<double(double)>& f) {
  double sum = 0;
  for (const double x : list) sum += f(x);
  return sum;
}
double same(double x) { return x; }
double extreme_of(const std::vector<double>& list, double sign) {
  double best = -sign * HUGE_VAL;
  for (const double x : list) best = std::isnan(x) || x * sign > best * sign ? x : best;
  return best;
}
OP_CASES(ReduceSum, 13,
         reductions([](const auto& list) { return sum_of(list, same); }, {1, 7, 8, 17, 49, 130}))
OP_CASES(ReduceMean, 18,
         reductions([](const auto& list) { return sum_of(list, same) / static_cast<double>(list.size()); }))
OP_CASES(ReduceL1, 18,
         reductions([](const auto& list) { return sum_of(list, [](double x) { return std::fabs(x); }); }))
OP_CASES(ReduceL2, 18,
         reductions([](const auto& list) { return std::sqrt(sum_of(list, [](double x) { return x * x; })); }))
OP_CASES(ReduceSumSquare, 18,
         reductions([](const auto& list) { return sum_of(list, [](double x) { return x * x; }); }))
OP_CASES(ReduceMax, 18, reductions([](const auto& list) { return extreme_of(list, 1); }))
OP_CASES(ReduceMin, 18, reductions([](const auto& list) { return extreme_of(list, -1); }))
OP_CASES(ReduceSum, 13, {{"halves_across", {f16({33, 17}, quarters(33 * 17)), constant(i64({1}, {0}))}, {[] {
                            std::vector<float> sums(17, 0.0f);
                            for (int64_t i = 0; i < 33 * 17; ++i)
                              sums[static_cast<size_t>(i % 17)] += quarter(i);
                            return f16({1, 17}, sums);
                          }()}}})

/// Which element of each line along the first of two dims, or the last, is the largest or smallest.
std::vector<OpCase> places(bool is_max) {
  std::vector<OpCase> out;
  const auto add = [&](const std::string& name, int64_t rows, int64_t columns, int64_t axis, bool last,
                       std::vector<int64_t> nans = {}) {
    std::vector<float> x = quarters(rows * columns);
    for (const int64_t at : nans) x[static_cast<size_t>(at)] = kNan;
    const int64_t lines = axis == 0 ? columns : rows, length = axis == 0 ? rows : columns;
    std::vector<int64_t> wanted;
    for (int64_t line = 0; line < lines; ++line) {
      const auto value = [&](int64_t k) {
        return x[static_cast<size_t>(axis == 0 ? k * columns + line : line * columns + k)];
      };
      int64_t best = 0;
      for (int64_t k = 1; k < length; ++k) {
        const float v = value(k), b = value(best);
        const bool beyond = std::isnan(v) ? !std::isnan(b) : is_max ? v > b : v < b;
        const bool equal = std::isnan(v) ? std::isnan(b) : v == b;
        if (beyond || (last && equal)) best = k;
      }
      wanted.push_back(best);
    }
    out.push_back({name + (last ? "_last" : ""),
                   {f32({rows, columns}, x)},
                   {i64(axis == 0 ? Dims{1, columns} : Dims{rows, 1}, wanted)},
                   {{"axis", axis}, {"select_last_index", int64_t{last}}}});
  };
  for (const bool last : {false, true}) {
    for (const int64_t n : {1, 33, 100}) add("line_of_" + std::to_string(n), 3, n, 1, last);
    add("columns", 40, 300, 0, last);
    add("nan_in_lines", 3, 70, 1, last, {65, 69, 100});
    add("nan_in_columns", 20, 17, 0, last, {3, 37, 17 * 19 + 3, 17 * 5 + 4, 17 * 6 + 4});
  }
  return out;
}
OP_CASES(ArgMax, 13, places(true))
OP_CASES(ArgMin, 13, places(false))

// ---- Pools ----

struct Window {
  int64_t kernel, stride, pad_begin = 0, pad_end = 0;
  int64_t out(int64_t in) const { return (in + pad_begin + pad_end - kernel) / stride + 1; }
};

/// A pool of 2 channels of [rows, columns].
OpCase pool(const std::string& name, int64_t rows, int64_t columns, Window down, Window across,
            const std::vector<float>& x, bool is_max, bool counts_padding = false) {
  std::vector<float> y;
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t i = 0; i < down.out(rows); ++i)
      for (int64_t j = 0; j < across.out(columns); ++j) {
        double sum = 0;
        float best = -kInf;
        int64_t taps = 0;
        for (int64_t u = 0; u < down.kernel; ++u)
          for (int64_t v = 0; v < across.kernel; ++v) {
            const int64_t r = i * down.stride - down.pad_begin + u,
                          k = j * across.stride - across.pad_begin + v;
            if (r < 0 || r >= rows || k < 0 || k >= columns) continue;
            const float tap = x[static_cast<size_t>((c * rows + r) * columns + k)];
            best = taps == 0 || tap > best ? tap : best;
            sum += static_cast<double>(tap);
            ++taps;
          }
        if (counts_padding) taps = down.kernel * across.kernel;
        y.push_back(is_max ? best : taps == 0 ? 0.0f : static_cast<float>(sum / static_cast<double>(taps)));
      }
  std::vector<Attribute> attributes = {
      {"kernel_shape", Ints{down.kernel, across.kernel}},
      {"strides", Ints{down.stride, across.stride}},
      {"pads", Ints{down.pad_begin, across.pad_begin, down.pad_end, across.pad_end}}};
  if (counts_padding) attributes.push_back({"count_include_pad", int64_t{1}});
  return {name,
          {f32({1, 2, rows, columns}, x)},
          {f32({1, 2, down.out(rows), across.out(columns)}, y)},
          attributes};
}

std::vector<OpCase> pools(bool is_max) {
  std::vector<OpCase> out;
  for (const int64_t columns : {3, 16, 17, 70}) {
    for (const Window window :
         {Window{1, 1}, Window{2, 2}, Window{3, 2, 1, 1}, Window{3, 1, 1, 1}, Window{5, 1, 2, 2},
          Window{3, 3, 1, 0}, Window{2, 1, 0, 1}, Window{7, 5, 3, 3}}) {
      if (columns + window.pad_begin + window.pad_end < window.kernel) continue;
      const std::string name = "columns_" + std::to_string(columns) + "_kernel_" +
                               std::to_string(window.kernel) + "_stride_" + std::to_string(window.stride);
      out.push_back(pool(name, 9, columns, window, window, quarters(2 * 9 * columns), is_max));
      if (window.pad_begin > 0)
        out.push_back(pool(name + "_uneven", 8, columns, {4, 3, 2, 1}, window, quarters(2 * 8 * columns),
                           is_max, !is_max));
    }
  }
  for (const size_t at : {size_t{0}, size_t{40}, size_t{203}}) {
    std::vector<float> x = quarters(2 * 6 * 17);
    x[at] = kInf;
    out.push_back(pool("infinite_at_" + std::to_string(at), 6, 17, {3, 2, 1, 1}, {3, 2, 1, 1}, x, is_max));
    x[at] = -kInf;
    out.push_back(
        pool("minus_infinite_at_" + std::to_string(at), 6, 17, {3, 1, 1, 1}, {3, 1, 1, 1}, x, is_max));
  }
  return out;
}
OP_CASES(MaxPool, 12, pools(true))
OP_CASES(AveragePool, 19, pools(false))
// A NaN that is the first tap of its windows.
OP_CASES(AveragePool, 19, {[] {
           std::vector<float> x = quarters(2 * 6 * 17);
           x[18] = kNan;
           return pool("nan", 6, 17, {3, 2, 1, 1}, {3, 2, 1, 1}, x, false);
         }()})
// A NaN that is the first tap of its window stays. Provider onednn leaves it out, and declines these attributes.
OP_CASES(MaxPool, 12, {[] {
           std::vector<float> x = quarters(2 * 6 * 18);
           x[2 * 18 + 4] = kNan;
           OpCase row = pool("nan_first", 6, 18, {2, 2}, {2, 2}, x, true);
           row.attributes = {{"kernel_shape", Ints{2, 2}},
                             {"strides", Ints{2, 2}},
                             {"ceil_mode", int64_t{1}},
                             {"auto_pad", std::string("VALID")}};
           return row;
         }()})

/// Maxima of bytes: those of the same numbers as floats. A window that is padding alone has the lowest byte.
std::vector<OpCase> byte_pools() {
  std::vector<OpCase> out;
  for (const bool is_signed : {false, true}) {
    const int low = is_signed ? -128 : 0;
    const auto as_bytes = [&](const Tensor& floats) {
      std::vector<int> values;
      for (int64_t i = 0; i < floats.size(); ++i)
        values.push_back(static_cast<int>(
            std::max(static_cast<float>(low), ep::load_element<float>(floats.bytes.data(), i))));
      return is_signed ? i8(floats.dims, values) : u8(floats.dims, values);
    };
    for (const Window window :
         {Window{1, 1}, Window{2, 2}, Window{3, 2, 1, 1}, Window{5, 1, 2, 2}, Window{1, 4, 5, 5}}) {
      std::vector<float> x;
      for (int i = 0; i < 2 * 9 * 37; ++i) x.push_back(static_cast<float>(i * 89 % 256 + low));
      OpCase row = pool(std::string(is_signed ? "signed" : "unsigned") + "_bytes_kernel_" +
                            std::to_string(window.kernel) + "_stride_" + std::to_string(window.stride),
                        9, 37, window, window, x, true);
      row.inputs[0] = as_bytes(row.inputs[0]);
      row.outputs[0] = as_bytes(row.outputs[0]);
      out.push_back(std::move(row));
    }
  }
  return out;
}
OP_CASES(MaxPool, 12, byte_pools())

std::vector<OpCase> global_pools(bool is_max) {
  std::vector<OpCase> out;
  for (const int64_t n : {1, 9, 49}) {
    const std::vector<float> x = quarters(3 * n);
    std::vector<float> y;
    for (int64_t c = 0; c < 3; ++c) {
      double sum = 0, best = -HUGE_VAL;
      for (int64_t i = 0; i < n; ++i) {
        const auto v = static_cast<double>(x[static_cast<size_t>(c * n + i)]);
        sum += v, best = std::max(best, v);
      }
      y.push_back(static_cast<float>(is_max ? best : sum / static_cast<double>(n)));
    }
    out.push_back({"plane_of_" + std::to_string(n), {f32({1, 3, n}, x)}, {f32({1, 3, 1}, y)}});
  }
  return out;
}
OP_CASES(GlobalAveragePool, 1, global_pools(false))
OP_CASES(GlobalMaxPool, 1, global_pools(true))

// ---- Movement ----

using Maker = std::function<Tensor(const Dims&, const std::vector<int64_t>&)>;

OpCase transposition(const std::string& name, const Maker& make, const Dims& dims, const Ints& perm) {
  const int64_t n = count_of(dims);
  std::vector<int64_t> x, y;
  for (int64_t i = 0; i < n; ++i) x.push_back(i % 101);
  Dims out, strides(dims.size(), 1);
  for (size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
  for (const int64_t p : perm) out.push_back(dims[static_cast<size_t>(p)]);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = out.size(); d-- > 0; rest /= out[d])
      from += rest % out[d] * strides[static_cast<size_t>(perm[d])];
    y.push_back(x[static_cast<size_t>(from)]);
  }
  return {name, {make(dims, x)}, {make(out, y)}, {{"perm", perm}}};
}

std::vector<OpCase> transpositions() {
  std::vector<OpCase> out;
  const auto narrow = [](const std::vector<int64_t>& x) { return std::vector<int>(x.begin(), x.end()); };
  const auto wide = [](const std::vector<int64_t>& x) { return std::vector<float>(x.begin(), x.end()); };
  const std::pair<const char*, Maker> types[] = {
      {"u8", [&](const Dims& dims, const std::vector<int64_t>& x) { return u8(dims, narrow(x)); }},
      {"f16", [&](const Dims& dims, const std::vector<int64_t>& x) { return f16(dims, wide(x)); }},
      {"f32", [&](const Dims& dims, const std::vector<int64_t>& x) { return f32(dims, wide(x)); }},
      {"i64", [](const Dims& dims, const std::vector<int64_t>& x) { return i64(dims, x); }}};
  for (const auto& [type, make] : types) {
    for (const int64_t rows : {2, 3, 4, 17, 100})
      for (const int64_t columns : {16, 65})
        out.push_back(
            transposition(std::string(type) + "_" + std::to_string(rows) + "_" + std::to_string(columns),
                          make, {rows, columns}, {1, 0}));
    for (const Ints& perm : {Ints{2, 1, 0}, Ints{0, 2, 1}}) {
      std::string name = type;
      for (const int64_t p : perm) name += "_" + std::to_string(p);
      out.push_back(transposition(name + "_of_3", make, {18, 5, 19}, perm));
    }
    out.push_back(transposition(std::string(type) + "_long", make, {3, 1100, 2, 70}, {0, 2, 3, 1}));
  }
  return out;
}
OP_CASES(Transpose, 13, transpositions())

std::vector<OpCase> concatenations() {
  std::vector<OpCase> out;
  const auto add = [&](const std::string& name, int64_t outer, const Ints& widths) {
    std::vector<Tensor> inputs;
    int64_t total = 0;
    for (const int64_t width : widths) total += width;
    std::vector<float> y(static_cast<size_t>(outer * total));
    int64_t first = 0;
    for (const int64_t width : widths) {
      std::vector<float> x;
      for (int64_t i = 0; i < outer * width; ++i) {
        x.push_back(quarter(i + first * 5));
        y[static_cast<size_t>(i / width * total + first + i % width)] = x.back();
      }
      inputs.push_back(f32({outer, width}, x));
      first += width;
    }
    out.push_back({name, inputs, {f32({outer, total}, y)}, {{"axis", int64_t{1}}}});
  };
  for (const int64_t n : kLengths) add("width_" + std::to_string(n), 5, {n, 1, n});
  add("without_rows", 0, {3, 2});
  add("pieces", 3, {9001, 0, 17, 20000});
  add("narrow_rows", 20011, {1, 2, 1});
  return out;
}
OP_CASES(Concat, 13, concatenations())

// ---- Resize ----

std::vector<OpCase> resizes(bool is_linear) {
  std::vector<OpCase> out;
  // Ratios that are powers of 2, or small: coordinates of devices are float32.
  constexpr std::pair<int64_t, int64_t> kWidths[] = {{1, 7},   {16, 8},  {34, 17}, {68, 17}, {136, 34},
                                                     {17, 34}, {33, 66}, {5, 20},  {16, 64}};
  for (const auto& [in_width, out_width] : kWidths) {
    const int64_t in = in_width, width = out_width, rows = 2, tall = 5;
    std::vector<float> x = quarters(2 * rows * in), y;
    const auto source = [](int64_t o, int64_t from, int64_t to) {
      return (static_cast<double>(o) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    };
    const auto at = [&](int64_t c, int64_t r, int64_t k) {
      return static_cast<double>(x[static_cast<size_t>((c * rows + std::clamp<int64_t>(r, 0, rows - 1)) * in +
                                                       std::clamp<int64_t>(k, 0, in - 1))]);
    };
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t i = 0; i < tall; ++i)
        for (int64_t j = 0; j < width; ++j) {
          const double u = source(i, rows, tall), v = source(j, in, width);
          if (!is_linear) {
            y.push_back(static_cast<float>(
                at(c, static_cast<int64_t>(std::ceil(u - 0.5)), static_cast<int64_t>(std::ceil(v - 0.5)))));
            continue;
          }
          const auto r = static_cast<int64_t>(std::floor(u)), k = static_cast<int64_t>(std::floor(v));
          const double a = u - std::floor(u), b = v - std::floor(v);
          y.push_back(static_cast<float>((at(c, r, k) * (1 - b) + at(c, r, k + 1) * b) * (1 - a) +
                                         (at(c, r + 1, k) * (1 - b) + at(c, r + 1, k + 1) * b) * a));
        }
    out.push_back({"from_" + std::to_string(in) + "_to_" + std::to_string(width),
                   {f32({1, 2, rows, in}, x), none(), none(), constant(i64({4}, {1, 2, tall, width}))},
                   {f32({1, 2, tall, width}, y)},
                   {{"mode", std::string(is_linear ? "linear" : "nearest")}}});
    out.back().name = (is_linear ? "linear_" : "nearest_") + out.back().name;
  }
  return out;
}
OP_CASES(Resize, 19, resizes(false))
OP_CASES(Resize, 19, resizes(true))

}  // namespace
}  // namespace tenon::test
