#include <algorithm>
#include <array>

#include "compiler/dnnl_data.h"

namespace tenon::onednn {

namespace {

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

/// Runs `make`, which returns a primitive_desc, and builds the primitive from it.
template <class Kind, class Make>
Primitive build(const char* what, Make&& make) {
  try {
    auto description = make();
    auto data = std::make_shared<Primitive::Data>();
    data->primitive = Kind(description);
    data->implementation = description.impl_info_str();
    data->description = static_cast<const dnnl::primitive_desc_base&>(description);
    return Primitive(std::move(data));
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) throw std::bad_alloc();
    ep::fail(TENON_UNIMPLEMENTED, "oneDNN has no implementation of this ", what, ": ", e.what());
  }
}

Dims less_one(const Dims& dilations) {
  Dims out = dilations;
  for (int64_t& d : out) --d;
  return out;
}

}  // namespace

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
      if (!out.next_impl())
        throw dnnl::error(dnnl_unimplemented, "there is no implementation for this tile size");
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
  constexpr std::array kAlgorithms = {A::reduction_max, A::reduction_min, A::reduction_sum, A::reduction_mul,
                                      A::reduction_mean};
  ep::require(static_cast<size_t>(reduce) < kAlgorithms.size(), TENON_INTERNAL, "norms are sums of powers");
  return build<dnnl::reduction>("reduction", [&] {
    const dnnl::reduction::desc desc(kAlgorithms[static_cast<size_t>(reduce)], unwrap(source),
                                     unwrap(destination), 0.0f, 0.0f);
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

}  // namespace tenon::onednn
