#include "compiler/dnnl_backend.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "compiler/dnnl_library.h"
// After it: the inline functions of this header call what that one loads.
#include <oneapi/dnnl/dnnl.hpp>

namespace tenon::onednn {

using dnnl::memory;

struct Layout::Data {
  memory::desc desc;
  Type type;
  Dims dims;
  std::string key;
};

struct Engine::Data {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

struct Primitive::Data {
  dnnl::primitive_desc_base description;
  dnnl::primitive primitive;
  std::string implementation;
};

struct Call::Data {
  Primitive primitive;
  dnnl_stream_t stream;
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

namespace {

memory::data_type dnnl_type(Type type) {
  switch (type) {
    case Type::kFloat32:
      return memory::data_type::f32;
    case Type::kBFloat16:
      return memory::data_type::bf16;
    case Type::kInt32:
    case Type::kInt64:  // for the places of elements; their size is not used
      return memory::data_type::s32;
    case Type::kInt8:
      return memory::data_type::s8;
    case Type::kUInt8:
      return memory::data_type::u8;
  }
  return memory::data_type::undef;
}

Type own_type(dnnl_data_type_t type) {
  switch (type) {
    case dnnl_bf16:
      return Type::kBFloat16;
    case dnnl_s32:
      return Type::kInt32;
    case dnnl_s8:
      return Type::kInt8;
    case dnnl_u8:
      return Type::kUInt8;
    default:
      return Type::kFloat32;
  }
}

/// An axis as a nest of loops, outer first: how many elements, and how far apart.
struct Loop {
  int64_t count, stride;
};

/// Loops of each axis over its padded size, neighbours merged where they are one loop: two layouts with equal
/// loops place every element at the same address.
std::vector<std::vector<Loop>> loops_of(const dnnl_memory_desc_t& d) {
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  std::vector<std::vector<Loop>> inner(static_cast<size_t>(d.ndims)), out(inner.size());
  std::vector<int64_t> blocks(inner.size(), 1);
  int64_t stride = 1;
  for (int b = blocking.inner_nblks - 1; b >= 0; --b) {
    const auto axis = static_cast<size_t>(blocking.inner_idxs[b]);
    inner[axis].insert(inner[axis].begin(), {blocking.inner_blks[b], stride});
    stride *= blocking.inner_blks[b];
    blocks[axis] *= blocking.inner_blks[b];
  }
  for (size_t axis = 0; axis < inner.size(); ++axis) {
    inner[axis].insert(inner[axis].begin(), {d.padded_dims[axis] / blocks[axis], blocking.strides[axis]});
    for (const Loop& loop : inner[axis]) {
      if (loop.count == 1) continue;
      auto& merged = out[axis];
      if (!merged.empty() && merged.back().stride == loop.count * loop.stride) {
        merged.back() = {merged.back().count * loop.count, loop.stride};
      } else {
        merged.push_back(loop);
      }
    }
  }
  return out;
}

std::string key_of(const dnnl_memory_desc_t& d) {
  std::string key = std::to_string(d.data_type) + ":";
  for (int i = 0; i < d.ndims; ++i) key += std::to_string(d.dims[i]) + ",";
  if (d.format_kind == dnnl_format_kind_any) return key + "any";
  if (d.format_kind != dnnl_blocked) {  // weights of Winograd and packed matrices: known by their bytes alone
    const auto* bytes = reinterpret_cast<const unsigned char*>(&d.format_desc);
    key +=
        "opaque" + std::to_string(d.format_kind) + ":" + std::to_string(dnnl_memory_desc_get_size(&d)) + ":";
    uint64_t hash = 1469598103934665603ull;
    for (size_t i = 0; i < sizeof(d.format_desc); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
    return key + std::to_string(hash);
  }
  key += "@" + std::to_string(d.offset0) + ":";
  const auto loops = loops_of(d);
  for (size_t axis = 0; axis < loops.size(); ++axis) {
    if (d.padded_dims[axis] != d.dims[axis]) key += "p" + std::to_string(d.padded_dims[axis]);
    for (const Loop& loop : loops[axis])
      key += std::to_string(loop.count) + "*" + std::to_string(loop.stride) + " ";
    key += "|";
  }
  if (d.extra.flags != 0) {
    key += "x" + std::to_string(d.extra.flags) + "," + std::to_string(d.extra.compensation_mask) + "," +
           std::to_string(d.extra.scale_adjust);
  }
  return key;
}

/// Strides of a dense tensor whose axes lie in memory in this order, outer first.
Dims strides_in_order(const dnnl_memory_desc_t& d, const std::vector<int>& order) {
  Dims out(order.size(), 1);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    out[axis] = stride;
    stride *= d.dims[axis];
  }
  return out;
}

/// Whether they are the strides of all axes that have more than one element.
bool are_strides_of(const dnnl_memory_desc_t& d, const Dims& strides) {
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (d.dims[axis] != 1 && d.format_desc.blocking.strides[axis] != strides[axis]) return false;
  }
  return true;
}

/// The strides of axes of one element mean nothing, and yet the library's kernels choose their code by them: it gets those
/// that its own formats have, rows or channels last, or else such that no axis lies within another.
void settle_strides(dnnl_memory_desc_t& d) {
  if (d.format_kind != dnnl_blocked || d.format_desc.blocking.inner_nblks != 0) return;
  if (!std::equal(d.dims, d.dims + d.ndims, d.padded_dims) || std::count(d.dims, d.dims + d.ndims, 0) != 0)
    return;
  auto* strides = d.format_desc.blocking.strides;
  std::vector<int> rows(static_cast<size_t>(d.ndims));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<int> channels_last = rows;
  if (d.ndims > 2) std::rotate(channels_last.begin() + 1, channels_last.begin() + 2, channels_last.end());
  for (const auto& order : {rows, channels_last}) {
    const Dims wanted = strides_in_order(d, order);
    if (are_strides_of(d, wanted)) return static_cast<void>(std::copy(wanted.begin(), wanted.end(), strides));
  }
  int64_t outside = 1;  // the span of the axes behind, or of all where there is none in front
  for (int axis = 0; axis < d.ndims; ++axis) outside = std::max(outside, d.dims[axis] * strides[axis]);
  for (int axis = 0; axis < d.ndims; ++axis) {
    if (d.dims[axis] != 1)
      outside = strides[axis];
    else
      strides[axis] = outside;
  }
}

Layout wrap(memory::desc desc, Type type) {
  if (desc.is_zero()) return {};
  settle_strides(desc.data);
  auto data = std::make_shared<Layout::Data>();
  data->desc = desc;
  data->type = type;
  data->dims = desc.dims();
  data->key = (type == Type::kInt64 ? "wide " : "") + key_of(desc.data);
  return Layout(std::move(data));
}

Layout wrap(const memory::desc& desc) { return wrap(desc, own_type(desc.data.data_type)); }

const memory::desc& unwrap(const Layout& layout) {
  static const memory::desc none;
  if (layout && layout.type() == Type::kInt64) [[unlikely]]
    ep::fail(TENON_UNIMPLEMENTED, "oneDNN computes nothing of int64");
  return layout ? layout.data().desc : none;
}

Dims row_major(DimsView dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(dims[i], 1);
  return strides;
}

Dims at_least_1d(DimsView dims) { return dims.empty() ? Dims{1} : Dims(dims.begin(), dims.end()); }

dnnl::algorithm algorithm_of(Eltwise e) {
  using A = dnnl::algorithm;
  constexpr std::array kAlgorithms = {
      A::eltwise_relu,     A::eltwise_tanh,  A::eltwise_elu,       A::eltwise_square,    A::eltwise_abs,
      A::eltwise_sqrt,     A::eltwise_swish, A::eltwise_linear,    A::eltwise_soft_relu, A::eltwise_mish,
      A::eltwise_logistic, A::eltwise_exp,   A::eltwise_gelu_tanh, A::eltwise_gelu_erf,  A::eltwise_log,
      A::eltwise_clip,     A::eltwise_pow,   A::eltwise_round,     A::eltwise_hardswish};
  static_assert(kAlgorithms.size() == static_cast<size_t>(Eltwise::kHardSwish) + 1);
  return kAlgorithms[static_cast<size_t>(e)];
}

dnnl::algorithm algorithm_of(Binary b) {
  using A = dnnl::algorithm;
  constexpr std::array kAlgorithms = {A::binary_add, A::binary_mul, A::binary_max, A::binary_min,
                                      A::binary_div, A::binary_sub, A::binary_ge,  A::binary_gt,
                                      A::binary_le,  A::binary_lt,  A::binary_eq,  A::binary_ne};
  static_assert(kAlgorithms.size() == static_cast<size_t>(Binary::kNe) + 1);
  return kAlgorithms[static_cast<size_t>(b)];
}

dnnl::primitive_attr attributes(const PostOps& post_ops) {
  dnnl::post_ops list;
  for (const PostOp& op : post_ops) {
    switch (op.kind) {
      case PostOp::Kind::kEltwise:
        list.append_eltwise(1.0f, algorithm_of(op.eltwise), op.alpha, op.beta);
        break;
      case PostOp::Kind::kBinary:
        list.append_binary(algorithm_of(op.binary), unwrap(op.operand));
        break;
      case PostOp::Kind::kSum:
        list.append_sum(1.0f);
        break;
    }
  }
  dnnl::primitive_attr out;
  out.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!post_ops.empty()) out.set_post_ops(list);
  return out;
}

/// DNNL_ARG_x of a role.
int argument_of(int role) {
  if (role >= kFirstSource) return DNNL_ARG_MULTIPLE_SRC + (role - kFirstSource);
  if (role >= kFirstPostOp) return DNNL_ARG_ATTR_MULTIPLE_POST_OP(role - kFirstPostOp) | DNNL_ARG_SRC_1;
  constexpr std::array kArguments = {DNNL_ARG_SRC,      DNNL_ARG_SRC_1,     DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS,
                                     DNNL_ARG_DST,      DNNL_ARG_SCALE,     DNNL_ARG_SHIFT,   DNNL_ARG_MEAN,
                                     DNNL_ARG_VARIANCE, DNNL_ARG_SCRATCHPAD};
  static_assert(kArguments.size() == kScratch + 1);
  return kArguments[static_cast<size_t>(role)];
}

/// Runs `make`, which returns a primitive_desc, and builds the primitive of it.
template <class Kind, class Make>
Primitive build(const char* what, Make&& make) {
  try {
    auto description = make();
    auto data = std::make_shared<Primitive::Data>();
    data->primitive = Kind(description);
    data->implementation = description.impl_info_str();
    data->description = description;
    return Primitive(std::move(data));
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) throw std::bad_alloc();
    ep::fail(TENON_UNIMPLEMENTED, "oneDNN has no implementation of this ", what, ": ", e.what());
  }
}

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) [[likely]]
    return;
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  ep::fail(TENON_INTERNAL, "oneDNN failed in ", what, " with status ", static_cast<int>(status));
}

Dims less_one(const Dims& dilations) {
  Dims out = dilations;
  for (int64_t& d : out) --d;
  return out;
}

}  // namespace

uint64_t bytes_of(Type type) {
  switch (type) {
    case Type::kBFloat16:
      return 2;
    case Type::kInt8:
    case Type::kUInt8:
      return 1;
    case Type::kInt64:
      return 8;
    default:
      return 4;
  }
}

Layout Layout::plain(Type type, DimsView dims) {
  const Dims full = at_least_1d(dims);
  return strided(type, full, row_major(full));
}

Layout Layout::strided(Type type, DimsView dims, DimsView strides) {
  const Dims places(strides.begin(), strides.end());
  return wrap(memory::desc({dims.begin(), dims.end()}, dnnl_type(type), places), type);
}

Layout Layout::any(Type type, DimsView dims) {
  return wrap(memory::desc(at_least_1d(dims), dnnl_type(type), memory::format_tag::any));
}

Layout Layout::blocked(Type type, DimsView dims) {
  return wrap(memory::desc({dims.begin(), dims.end()}, dnnl_type(type), memory::format_tag::nChw16c));
}

Type Layout::type() const { return data_->type; }
const Dims& Layout::dims() const { return data_->dims; }
uint64_t Layout::bytes() const { return data_->desc.get_size() * (type() == Type::kInt64 ? 2 : 1); }
bool Layout::is_any() const { return data_->desc.data.format_kind == dnnl_format_kind_any; }
bool Layout::is_opaque() const { return !is_any() && data_->desc.data.format_kind != dnnl_blocked; }
bool Layout::is_plain() const { return *this == plain(type(), dims()); }
bool Layout::is_dense() const {
  return data_->desc.data.format_kind == dnnl_blocked && data_->desc.data.offset0 == 0 &&
         bytes() == static_cast<uint64_t>(elements()) * bytes_of(type());
}
bool Layout::has_gaps() const {
  const dnnl_memory_desc_t& d = data_->desc.data;
  return !is_any() && !is_dense() && (d.offset0 != 0 || std::equal(d.dims, d.dims + d.ndims, d.padded_dims));
}
const std::string& Layout::key() const {
  static const std::string none;
  return data_ == nullptr ? none : data_->key;
}

std::optional<Layout> Layout::reshaped(DimsView dims) const {
  const Dims wanted = at_least_1d(dims);
  if (is_plain()) return plain(type(), wanted);
  const memory::desc desc = data_->desc.reshape(wanted, true);
  if (desc.is_zero()) return std::nullopt;
  return wrap(desc, type());
}

Layout Layout::permuted(std::span<const int64_t> permutation) const {
  std::vector<int> to(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    to[static_cast<size_t>(permutation[i])] = static_cast<int>(i);
  return wrap(data_->desc.permute_axes(to), type());
}

Layout Layout::with_type(Type type) const {
  memory::desc desc = data_->desc;
  desc.data.data_type = static_cast<dnnl_data_type_t>(dnnl_type(type));
  return wrap(desc, type);
}

std::optional<Layout> Layout::part(DimsView dims, DimsView offsets) const {
  const memory::desc desc =
      data_->desc.submemory_desc({dims.begin(), dims.end()}, {offsets.begin(), offsets.end()}, true);
  if (desc.is_zero()) return std::nullopt;
  return wrap(desc, type());
}

Engine::Engine() {
  try {
    data_ = std::make_unique<Data>();
  } catch (const dnnl::error& e) {
    ep::fail(TENON_UNAVAILABLE, "oneDNN has no engine for this processor: ", e.what());
  }
}
Engine::~Engine() = default;

Layout Primitive::layout(int role) const {
  return wrap(data_->description.query_md(dnnl::query::exec_arg_md, argument_of(role)));
}
const std::string& Primitive::implementation() const { return data_->implementation; }

Primitive make_convolution(const Engine& engine, const ConvolutionSpec& spec, const PostOps& post_ops) {
  using dnnl::algorithm;
  using dnnl::prop_kind;
  const Window& w = spec.window;
  const Dims dilations = less_one(w.dilations);
  if (spec.transposed) {
    return build<dnnl::deconvolution_forward>("transposed convolution", [&] {
      const dnnl::deconvolution_forward::desc desc(
          prop_kind::forward_inference, algorithm::deconvolution_direct, unwrap(spec.source),
          unwrap(spec.weights), unwrap(spec.bias), unwrap(spec.destination), w.strides, dilations,
          w.pads_begin, w.pads_end);
      return dnnl::deconvolution_forward::primitive_desc(desc, attributes(post_ops), engine.data().engine);
    });
  }
  const bool direct = spec.winograd == Winograd::kNone;
  const algorithm how = direct ? algorithm::convolution_direct : algorithm::convolution_winograd;
  return build<dnnl::convolution_forward>("convolution", [&] {
    const dnnl::convolution_forward::desc desc(
        prop_kind::forward_inference, how, unwrap(spec.source), unwrap(spec.weights), unwrap(spec.bias),
        unwrap(spec.destination), w.strides, dilations, w.pads_begin, w.pads_end);
    dnnl::convolution_forward::primitive_desc out(desc, attributes(post_ops), engine.data().engine);
    const char* tile = spec.winograd == Winograd::k2x2 ? "wino_2x3" : "wino_4x3";
    while (!direct && std::strstr(out.impl_info_str(), tile) == nullptr) {
      if (!out.next_impl()) throw dnnl::error(dnnl_unimplemented, "none for tiles of this size");
    }
    return out;
  });
}

Primitive make_matmul(const Engine& engine, const MatMulSpec& spec, const PostOps& post_ops) {
  return build<dnnl::matmul>("matrix product", [&] {
    dnnl::primitive_attr attr = attributes(post_ops);
    if (spec.scale != 1) attr.set_output_scales(0, {spec.scale});
    const dnnl::matmul::desc desc(unwrap(spec.source), unwrap(spec.weights), unwrap(spec.bias),
                                  unwrap(spec.destination));
    return dnnl::matmul::primitive_desc(desc, attr, engine.data().engine);
  });
}

Primitive make_pooling(const Engine& engine, Pool pool, const Layout& source, const Layout& destination,
                       const Window& w) {
  using dnnl::algorithm;
  const algorithm how = pool == Pool::kMax       ? algorithm::pooling_max
                        : pool == Pool::kAverage ? algorithm::pooling_avg_exclude_padding
                                                 : algorithm::pooling_avg_include_padding;
  return build<dnnl::pooling_v2_forward>("pooling", [&] {
    const dnnl::pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, how, unwrap(source),
                                              unwrap(destination), w.strides, w.kernel, less_one(w.dilations),
                                              w.pads_begin, w.pads_end);
    return dnnl::pooling_v2_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_eltwise(const Engine& engine, Eltwise algorithm, float alpha, float beta,
                       const Layout& layout) {
  return build<dnnl::eltwise_forward>("elementwise function", [&] {
    const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm_of(algorithm),
                                           unwrap(layout), alpha, beta);
    return dnnl::eltwise_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_binary(const Engine& engine, Binary algorithm, const Layout& a, const Layout& b,
                      const Layout& destination, const PostOps& post_ops) {
  return build<dnnl::binary>("binary function", [&] {
    const dnnl::binary::desc desc(algorithm_of(algorithm), unwrap(a), unwrap(b), unwrap(destination));
    return dnnl::binary::primitive_desc(desc, attributes(post_ops), engine.data().engine);
  });
}

Primitive make_softmax(const Engine& engine, const Layout& layout, int axis, bool logarithm) {
  if (logarithm) {
    return build<dnnl::logsoftmax_forward>("LogSoftmax", [&] {
      const dnnl::logsoftmax_forward::desc desc(dnnl::prop_kind::forward_inference, unwrap(layout), axis);
      return dnnl::logsoftmax_forward::primitive_desc(desc, attributes({}), engine.data().engine);
    });
  }
  return build<dnnl::softmax_forward>("Softmax", [&] {
    const dnnl::softmax_forward::desc desc(dnnl::prop_kind::forward_inference, unwrap(layout), axis);
    return dnnl::softmax_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_layer_norm(const Engine& engine, const Layout& layout, float epsilon, bool scale, bool shift) {
  return build<dnnl::layer_normalization_forward>("layer normalization", [&] {
    auto flags = dnnl::normalization_flags::none;
    if (scale) flags |= dnnl::normalization_flags::use_scale;
    if (shift) flags |= dnnl::normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, unwrap(layout),
                                                       epsilon, flags);
    return dnnl::layer_normalization_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_batch_norm(const Engine& engine, const Layout& layout, float epsilon) {
  return build<dnnl::batch_normalization_forward>("batch normalization", [&] {
    const auto flags = dnnl::normalization_flags::use_global_stats | dnnl::normalization_flags::use_scale |
                       dnnl::normalization_flags::use_shift;
    const dnnl::batch_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, unwrap(layout),
                                                       epsilon, flags);
    return dnnl::batch_normalization_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_lrn(const Engine& engine, const Layout& layout, int64_t size, float alpha, float beta,
                   float k) {
  return build<dnnl::lrn_forward>("LRN", [&] {
    const dnnl::lrn_forward::desc desc(dnnl::prop_kind::forward_inference,
                                       dnnl::algorithm::lrn_across_channels, unwrap(layout), size, alpha,
                                       beta, k);
    return dnnl::lrn_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_reduction(const Engine& engine, Reduce reduce, const Layout& source,
                         const Layout& destination) {
  using A = dnnl::algorithm;
  constexpr std::array kAlgorithms = {A::reduction_max,         A::reduction_min,
                                      A::reduction_sum,         A::reduction_mul,
                                      A::reduction_mean,        A::reduction_norm_lp_power_p_sum,
                                      A::reduction_norm_lp_sum, A::reduction_norm_lp_power_p_sum};
  const float p = reduce == Reduce::kNorm1 ? 1.0f : 2.0f;
  return build<dnnl::reduction>("reduction", [&] {
    const dnnl::reduction::desc desc(kAlgorithms[static_cast<size_t>(reduce)], unwrap(source),
                                     unwrap(destination), p, 0.0f);
    return dnnl::reduction::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_concat(const Engine& engine, int axis, const std::vector<Layout>& sources,
                      const Layout& destination) {
  return build<dnnl::concat>("concatenation", [&] {
    std::vector<memory::desc> descs;
    for (const Layout& source : sources) descs.push_back(unwrap(source));
    return dnnl::concat::primitive_desc(unwrap(destination), axis, descs, engine.data().engine,
                                        attributes({}));
  });
}

Primitive make_reorder(const Engine& engine, const Layout& source, const Layout& destination) {
  const dnnl::engine& cpu = engine.data().engine;
  return build<dnnl::reorder>("change of layout", [&] {
    return dnnl::reorder::primitive_desc(cpu, unwrap(source), cpu, unwrap(destination), attributes({}));
  });
}

Primitive make_resampling(const Engine& engine, bool linear, const std::vector<float>& factors,
                          const Layout& source, const Layout& destination) {
  const auto how = linear ? dnnl::algorithm::resampling_linear : dnnl::algorithm::resampling_nearest;
  return build<dnnl::resampling_forward>("resampling", [&] {
    const dnnl::resampling_forward::desc desc(dnnl::prop_kind::forward_inference, how, factors,
                                              unwrap(source), unwrap(destination));
    return dnnl::resampling_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Primitive make_prelu(const Engine& engine, const Layout& source, const Layout& weights) {
  return build<dnnl::prelu_forward>("PRelu", [&] {
    const dnnl::prelu_forward::desc desc(dnnl::prop_kind::forward_inference, unwrap(source), unwrap(weights));
    return dnnl::prelu_forward::primitive_desc(desc, attributes({}), engine.data().engine);
  });
}

Call::Call(const Engine& engine, const Primitive& primitive, const std::vector<int>& roles)
    : data_(std::make_unique<Data>()) {
  data_->primitive = primitive;
  data_->stream = engine.data().stream.get();
  for (const int role : roles) {
    const Layout layout = primitive.layout(role);
    ep::require(static_cast<bool>(layout), TENON_INTERNAL, "the primitive ", primitive.implementation(),
                " has no argument of role ", role);
    data_->memories.emplace_back(layout.data().desc, engine.data().engine, static_cast<void*>(nullptr));
    data_->arguments.push_back({argument_of(role), data_->memories.back().get()});
  }
}
Call::~Call() = default;
Call::Call(Call&&) noexcept = default;

void Call::set(size_t argument, void* address) {
  check(dnnl_memory_set_data_handle(data_->arguments[argument].memory, address), "setting an address");
}

void Call::run() const {
  check(dnnl_primitive_execute(data_->primitive.data().primitive.get(), data_->stream,
                               static_cast<int>(data_->arguments.size()), data_->arguments.data()),
        "executing a primitive");
}

void load_library() { (void)library(); }

bool has_winograd() {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

bool has_bf16() {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

}  // namespace tenon::onednn
