// Random quantised networks through islands of the cpu provider, compared with the same provider's kernels, node by node. All scales
// are powers of two, so that no result depends on how floats are rounded: both give the same bytes.
#include <gmock/gmock.h>

#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;
using ir::ElementType;

class ByteDrawer {
 public:
  explicit ByteDrawer(uint32_t seed) : random_(seed) {}

  std::string network() {
    m_.model.opset_imports["com.microsoft"] = 1;
    shape_ = {draw(1, 2), draw(1, 2) == 1 ? draw(1, 9) : draw(1, 70), draw(1, 9), draw(1, 9)};
    const ir::Dim batch = draw(0, 3) == 0 ? ir::Dim("batch") : ir::Dim(shape_[0]);
    const std::vector<ir::Dim> declared{batch, shape_[1], shape_[2], shape_[3]};
    kind_ = draw(0, 2);
    if (kind_ == 0) {
      const Id x = m_.input("x", GraphMaker::f32(declared));
      add_quantised(x, shape_);
    } else {
      const bool is_signed = kind_ == 1;
      const Id x = m_.input("x", GraphMaker::type(type(is_signed), declared));
      add({x, shape_, is_signed, scale(), draw(0, 1) == 0 ? 0 : draw(is_signed ? -20 : 0, 20)});
    }
    const int64_t nodes = draw(2, 12);
    for (int64_t i = 0; i < nodes; ++i) add_node();
    for (size_t i = 0; i < values_.size(); ++i) {
      const Drawn& v = values_[i];
      if (v.uses != 0) continue;
      const bool as_floats = draw(0, 2) == 0;
      m_.output(as_floats ? dequantised(v) : v.id, "out" + std::to_string(i));
    }
    return m_.bytes();
  }

  ValueRef input() {
    const int64_t n = count(shape_);
    if (kind_ == 0) return f32(shape_, noise(random_, n, 40));
    std::vector<uint8_t> bytes(static_cast<size_t>(n));
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(draw(0, 255));
    return tensor(kind_ == 1 ? TENON_INT8 : TENON_UINT8, shape_, bytes.data());
  }

 private:
  struct Drawn {
    Id id;
    std::vector<int64_t> dims;
    bool is_signed = false;
    float scale = 1;
    int64_t zero = 0;
    int uses = 0;
  };

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  float scale() { return std::ldexp(1.0f, static_cast<int>(draw(-3, 1))); }
  static ElementType type(bool is_signed) { return is_signed ? ElementType::kInt8 : ElementType::kUInt8; }
  std::string name() { return "c" + std::to_string(names_++); }
  void add(const Drawn& value) { values_.push_back(value); }
  size_t pick() {
    const auto last = static_cast<int64_t>(values_.size()) - 1;
    return static_cast<size_t>(std::max(draw(0, last), draw(0, last)));
  }
  Drawn use(size_t i) {
    ++values_[i].uses;
    return values_[i];
  }

  Id number(float x) { return m_.constant(name(), {}, {x}); }
  Id bytes_of(const std::vector<int64_t>& dims, bool is_signed, const std::vector<int64_t>& values) {
    std::vector<std::byte> data;
    for (const int64_t v : values) data.push_back(static_cast<std::byte>(v));
    return m_.graph.add_constant(name(), *ir::Tensor::make(type(is_signed), dims, std::move(data)));
  }
  std::vector<int64_t> random_bytes(int64_t n, bool is_signed) {
    std::vector<int64_t> out(static_cast<size_t>(n));
    for (int64_t& b : out) b = is_signed ? draw(-128, 127) : draw(0, 255);
    return out;
  }
  Id zero_of(const Drawn& v) { return bytes_of({}, v.is_signed, {v.zero}); }
  /// What a result may be quantised with.
  Drawn result(std::vector<int64_t> dims) {
    Drawn out{Id(), std::move(dims), draw(0, 1) == 0, scale(), 0};
    if (draw(0, 2) != 0) out.zero = out.is_signed ? draw(-128, 60) : draw(0, 200);
    return out;
  }
  Id dequantised(const Drawn& v) { return m_.node("DequantizeLinear", {v.id, number(v.scale), zero_of(v)}); }
  void add_quantised(Id floats, const std::vector<int64_t>& dims) {
    Drawn out = result(dims);
    out.id = m_.node("QuantizeLinear", {floats, number(out.scale), zero_of(out)});
    add(out);
  }

  void add_node() {
    const size_t at = pick();
    const bool is_image = values_[at].dims.size() == 4;
    switch (draw(0, 8)) {
      case 0:
      case 1:
      case 2:
        return is_image ? add_conv(at) : add_product(at);
      case 3:
        return is_image ? add_pool(at) : add_chain(at);
      case 4:
        return add_chain(at);
      case 5:
      case 6:
        return add_sum(at);
      case 7:
        return add_concat(at);
      default:
        return is_image ? add_flat(at) : add_product(at);
    }
  }

  /// With `keeps` the result has the shape of what goes in.
  void add_conv(size_t at, bool keeps = false) {
    const Drawn x = use(at);
    const int64_t channels = x.dims[1], rows = keeps ? 3 : draw(1, 3), columns = keeps ? 3 : draw(1, 4),
                  stride = keeps ? 1 : draw(1, 2), dilation = keeps ? 1 : draw(1, 2),
                  pad = keeps ? 1 : draw(0, 1);
    const bool depthwise = draw(0, 2) == 0;
    int64_t groups = 1;
    if (depthwise) {
      groups = channels;
    } else if (draw(0, 3) == 0 && channels % 2 == 0) {
      groups = 2;
    }
    const int64_t filters = depthwise || keeps ? channels : groups * draw(1, 70);
    const auto spans = [&](int64_t n, int64_t kernel) { return n + 2 * pad - ((kernel - 1) * dilation + 1); };
    if (spans(x.dims[2], rows) < 0 || spans(x.dims[3], columns) < 0) return add_chain(at);
    const std::vector<int64_t> dims{filters, channels / groups, rows, columns};
    Drawn out = result(
        {x.dims[0], filters, spans(x.dims[2], rows) / stride + 1, spans(x.dims[3], columns) / stride + 1});
    const bool w_signed = draw(0, 2) != 0, w_zero = draw(0, 2) == 0, per_channel = draw(0, 1) == 0;
    std::vector<float> scales(static_cast<size_t>(per_channel ? filters : 1));
    for (float& s : scales) s = scale() / 64;
    std::vector<int64_t> zeros(w_zero && per_channel ? static_cast<size_t>(filters) : 1, 0);
    for (int64_t& z : zeros) z = w_zero ? draw(w_signed ? -9 : 0, 9) : 0;
    const std::vector<int64_t> scale_dims =
        per_channel ? std::vector<int64_t>{filters} : std::vector<int64_t>{};
    const std::vector<int64_t> zero_dims = zeros.size() > 1 || per_channel
                                               ? std::vector<int64_t>{static_cast<int64_t>(zeros.size())}
                                               : scale_dims;
    std::vector<Id> inputs{x.id,
                           number(x.scale),
                           zero_of(x),
                           bytes_of(dims, w_signed, random_bytes(count(dims), w_signed)),
                           m_.constant(name(), scale_dims, scales),
                           bytes_of(zero_dims, w_signed, zeros),
                           number(out.scale),
                           zero_of(out)};
    if (draw(0, 1) == 1) {
      std::vector<int32_t> bias(static_cast<size_t>(filters));
      for (int32_t& b : bias) b = static_cast<int32_t>(draw(-3000, 3000));
      std::vector<std::byte> data(bias.size() * sizeof(int32_t));
      std::memcpy(data.data(), bias.data(), data.size());
      inputs.push_back(
          m_.graph.add_constant(name(), *ir::Tensor::make(ElementType::kInt32, {filters}, std::move(data))));
    }
    out.id = m_.node(
        "QLinearConv", inputs,
        {Attribute::of_ints("pads", {pad, pad, pad, pad}), Attribute::of_ints("strides", {stride, stride}),
         Attribute::of_ints("dilations", {dilation, dilation}), Attribute::of_int("group", groups)});
    add(out);
  }

  void add_product(size_t at) {
    const Drawn x = use(at);
    const int64_t k = x.dims.back(), n = draw(1, 150);
    Drawn out = result(x.dims);
    out.dims.back() = n;
    const bool w_signed = draw(0, 1) == 0, per_column = draw(0, 1) == 0;
    std::vector<float> scales(static_cast<size_t>(per_column ? n : 1));
    for (float& s : scales) s = scale() / 64;
    const std::vector<int64_t> scale_dims = per_column ? std::vector<int64_t>{n} : std::vector<int64_t>{};
    std::vector<int64_t> zeros(scales.size());
    for (int64_t& z : zeros) z = draw(0, 2) == 0 ? draw(0, 30) : 0;
    out.id =
        m_.node("QLinearMatMul",
                {x.id, number(x.scale), zero_of(x), bytes_of({k, n}, w_signed, random_bytes(k * n, w_signed)),
                 m_.constant(name(), scale_dims, scales), bytes_of(scale_dims, w_signed, zeros),
                 number(out.scale), zero_of(out)});
    add(out);
  }

  void add_gemm(const Drawn& x, Drawn out, bool w_signed, const std::vector<float>& scales,
                const std::vector<int64_t>& zeros) {
    const int64_t k = x.dims[1], n = out.dims[1];
    const bool transposed = draw(0, 1) == 0, as_floats = draw(0, 2) == 0;
    const auto one_or_row = [](size_t elements) {
      return elements == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(elements)};
    };
    std::vector<Id> inputs{x.id,
                           number(x.scale),
                           zero_of(x),
                           bytes_of(transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n},
                                    w_signed, random_bytes(k * n, w_signed)),
                           m_.constant(name(), one_or_row(scales.size()), scales),
                           bytes_of(one_or_row(zeros.size()), w_signed, zeros)};
    if (draw(0, 1) == 0) {
      const std::vector<int32_t> c(static_cast<size_t>(n), static_cast<int32_t>(draw(-999, 999)));
      std::vector<std::byte> data(c.size() * sizeof(int32_t));
      std::memcpy(data.data(), c.data(), data.size());
      inputs.push_back(
          m_.graph.add_constant(name(), *ir::Tensor::make(ElementType::kInt32, {n}, std::move(data))));
    } else {
      inputs.push_back(ir::kNone);
    }
    if (!as_floats) inputs.push_back(number(out.scale)), inputs.push_back(zero_of(out));
    const Id y =
        m_.node("com.microsoft:QGemm", inputs,
                {Attribute::of_int("transB", transposed ? 1 : 0), Attribute::of_float("alpha", 0.5f)});
    if (as_floats) return add_quantised(y, out.dims);
    out.id = y;
    add(out);
  }

  void add_pool(size_t at) {
    Drawn x = use(at);
    const int64_t rows = draw(1, std::min<int64_t>(3, x.dims[2])),
                  columns = draw(1, std::min<int64_t>(3, x.dims[3])), stride = draw(1, 2);
    x.id = m_.node(
        "MaxPool", {x.id},
        {Attribute::of_ints("kernel_shape", {rows, columns}), Attribute::of_ints("strides", {stride, stride}),
         Attribute::of_ints("pads", {rows / 2, columns / 2, 0, 0})});
    x.dims[2] = (x.dims[2] + rows / 2 - rows) / stride + 1;
    x.dims[3] = (x.dims[3] + columns / 2 - columns) / stride + 1;
    x.uses = 0;
    add(x);
  }

  /// Elementwise nodes between DequantizeLinear and QuantizeLinear.
  void add_chain(size_t at) {
    static constexpr const char* kNames[] = {"Relu", "Neg", "Abs", "HardSigmoid"};
    const Drawn x = use(at);
    Id y = dequantised(x);
    for (int64_t i = draw(0, 2); i > 0; --i) y = m_.node(kNames[draw(0, 2)], {y});
    if (draw(0, 1) == 0) {
      std::vector<int64_t> dims(x.dims.size(), 1);
      if (draw(0, 1) == 0) dims[1] = x.dims[1];
      std::vector<float> values(static_cast<size_t>(count(dims)));
      for (float& v : values) v = static_cast<float>(draw(-4, 4));
      const Id other = m_.constant(name(), dims, values);
      y = draw(0, 1) == 0 ? m_.node("Add", {y, other}) : m_.node("Mul", {other, y});
    }
    add_quantised(y, x.dims);
  }

  /// As in residual networks.
  void add_sum(size_t at) {
    size_t with = pick();
    if (values_[with].dims != values_[at].dims || with == at) {
      if (values_[at].dims.size() != 4) return add_chain(at);
      add_conv(at, true);
      with = values_.size() - 1;
    }
    const Drawn a = use(at), b = use(with);
    const Id left = dequantised(a), right = draw(0, 9) == 0 ? left : dequantised(b);
    Id y = m_.node("Add", {left, right});
    if (draw(0, 1) == 0) y = m_.node("Relu", {y});
    add_quantised(y, a.dims);
  }

  void add_concat(size_t at) {
    const size_t with = pick();
    Drawn x = values_[at], y = values_[with];
    std::vector<int64_t> own = x.dims, dims = y.dims;
    if (dims.size() == own.size()) dims[1] = own[1];
    if (dims != own || x.is_signed != y.is_signed) return add_chain(at);
    x = use(at), y = use(with);
    x.id = m_.node("Concat", {x.id, y.id}, {Attribute::of_int("axis", 1)});
    x.dims[1] += y.dims[1];
    x.uses = 0;
    add(x);
  }

  void add_flat(size_t at) {
    Drawn x = use(at);
    x.id = m_.node("Flatten", {x.id});
    x.dims = {x.dims[0], x.dims[1] * x.dims[2] * x.dims[3]};
    x.uses = 0;
    add(x);
  }

  std::mt19937 random_;
  GraphMaker m_;
  int names_ = 0;
  int64_t kind_ = 0;
  std::vector<int64_t> shape_;
  std::vector<Drawn> values_;
};

/// The numbers of a tensor of floats or bytes.
std::vector<float> numbers(const ValueRef& value) {
  if (value->tensor.dtype == TENON_FLOAT32) return floats(value);
  const std::vector<uint8_t> bytes = elements<uint8_t>(value);
  return {bytes.begin(), bytes.end()};
}

void expect_same(const std::vector<ValueRef>& got, const std::vector<ValueRef>& wanted,
                 const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(dims(got[o]), dims(wanted[o])) << what;
    ASSERT_EQ(numbers(got[o]), numbers(wanted[o])) << what << ", output " << o;
  }
}

TEST(ByteIslands, RandomNetworksGiveTheBytesThatKernelsGive) {
  size_t islands = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    ByteDrawer drawer(seed);
    const std::string bytes = drawer.network();
    const ValueRef x = drawer.input();
    const std::string what = "seed " + std::to_string(seed);
    const auto with = make_session(bytes, islands_config(true, {"threads.count=1"})),
               two = make_session(bytes, islands_config(true, {"threads.count=2"})),
               without = make_session(bytes, islands_config(false));
    ASSERT_TRUE(with != nullptr && two != nullptr && without != nullptr) << what;
    islands += largest_part(*with) > 1 ? 1 : 0;
    EXPECT_LE(largest_part(*without), 1u) << what;
    const std::vector<ValueRef> wanted = run(*without, {{"x", x}});
    expect_same(run(*with, {{"x", x}}), wanted, what);
    if (HasFatalFailure()) return;
    expect_same(run(*two, {{"x", x}}), wanted, what + ", 2 threads");
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(islands, 200u) << "most networks have an island of several nodes";
}

}  // namespace
}  // namespace tenon::test
