#include "engines.h"

#include <algorithm>

#include "patterns.h"

namespace fake_cudnn {
namespace {

using fake_cuda::Rounding;
using fake_cuda::Type;

constexpr int kTuring = 75, kAmpere = 80, kHopper = 90;
constexpr int64_t kOverhead = 131;  // of engines that need next to nothing

const std::vector<cudnnBackendBehaviorNote_t> kCompiledAtRunTime = {
    CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION, CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API};

bool is_real(Type type) { return type == Type::kFloat || type == Type::kHalf || type == Type::kBfloat; }

/// What devices of that capability multiply at all, and on tensor cores.
bool has_arithmetic(Type type, int capability) {
  return is_real(type) && capability >= kTuring && (type != Type::kBfloat || capability >= kAmpere);
}
bool has_tensor_cores(Type type, int capability) { return type == Type::kHalf || capability >= kAmpere; }

bool is_compiled(const Engine& engine) { return !engine.behaviour.empty(); }
bool is_exact(const Engine& engine) {
  return engine.notes.empty() || engine.notes.front() == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
}

bool computes_in_float(const Graph& g) {
  return std::all_of(g.nodes.begin(), g.nodes.end(),
                     [](const Node& n) { return n.compute == CUDNN_DATA_FLOAT; });
}

bool is_packed(const Tensor& t) {
  int64_t stride = 1;
  for (int32_t d = t.rank - 1; d >= 0; --d) {
    if (t.dims[d] != 1 && t.strides[d] != stride) return false;
    stride *= t.dims[d];
  }
  return true;
}

/// Collects engines of one graph.
struct List {
  Type type;
  int capability;
  std::vector<Engine> engines;

  /// One of ordinary arithmetic.
  void add(int64_t index, int64_t workspace, std::vector<cudnnBackendNumericalNote_t> notes = {}) {
    engines.push_back({index, std::move(notes), {}, workspace, Rounding::kNone});
  }
  /// The same, compiled at run time.
  void add_compiled(int64_t index) { engines.push_back({index, {}, kCompiledAtRunTime, 0, Rounding::kNone}); }
  /// One that rounds float to what tensor cores take.
  void add_on_tensor_cores(int64_t index, int64_t workspace, bool at_run_time = false) {
    if (!has_tensor_cores(type, capability)) return;
    engines.push_back({index,
                       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
                       at_run_time ? kCompiledAtRunTime : std::vector<cudnnBackendBehaviorNote_t>{},
                       workspace,
                       type == Type::kFloat ? Rounding::kTf32 : Rounding::kNone});
  }
};

/// Engines that are compiled at run time, for channels last. Exact ones are for two axes, and not for bfloat.
void add_compiled_convolutions(const Graph& g, const Node& conv, List& to) {
  const Tensor &x = g.x(conv), &w = g.b(conv);
  const int64_t element = fake_cuda::bytes_of(x.type), in = w.dims[1] * element, out = w.dims[0] * element;
  const bool has_groups = w.dims[1] != x.dims[1];
  if (conv.spatial == 1) return;
  if (to.capability >= kAmpere && in % 4 == 0) {
    to.add_on_tensor_cores(7, 0, true);
    if (!has_groups && out % 4 == 0) to.add_on_tensor_cores(1, 0, true);
    if (!has_groups && in % 16 == 0 && out % 16 == 0 && to.capability >= kHopper)
      to.add_on_tensor_cores(2, 0, true);
  } else if (to.capability == kTuring && to.type == Type::kHalf && !has_groups && in % 16 == 0 &&
             out % 16 == 0) {
    to.add_on_tensor_cores(0, 0, true);
  }
  if (conv.spatial == 2 && to.type != Type::kBfloat) to.add_compiled(8);
}

/// What precompiled engines that want channels last copy of other layouts.
int64_t copies_of(const Graph& g, const Node& conv) {
  int64_t bytes = 0;
  for (const int32_t t : {conv.x, conv.b, conv.y}) {
    if (!is_channels_last(g.at(t))) bytes += g.at(t).elements() * fake_cuda::bytes_of(g.at(t).type);
  }
  return bytes == 0 ? 0 : bytes + 144;
}

bool is_winograd(const Graph& g, const Node& conv, int capability) {
  if (conv.spatial != 2 || g.x(conv).type != Type::kFloat || capability >= kHopper) return false;
  for (int d = 0; d < 2; ++d) {
    if (g.b(conv).dims[2 + d] != 3 || conv.stride[d] != 1 || conv.dilation[d] != 1) return false;
  }
  return g.b(conv).dims[1] == g.x(conv).dims[1];
}

/// Precompiled engines: one layout, packed, and one type for all that is in memory.
bool has_precompiled(const Graph& g, const Node& conv) {
  const Tensor *x = &g.x(conv), *w = &g.b(conv);
  bool all_packed = true, all_last = true;
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    const Tensor& t = g.tensors[i];
    if (t.is_virtual || (&t != x && &t != w && !t.has_dims_of(g.y(conv)))) continue;
    if (t.type != x->type) return false;
    all_packed &= is_packed(t);
    all_last &= is_channels_last(t);
  }
  return (all_packed || all_last) && conv.spatial >= 1 && conv.spatial <= 3 && x->rank == conv.spatial + 2 &&
         conv.alpha == 1 && conv.beta == 0;
}

void add_convolutions(const Graph& g, List& to) {
  const Node& conv = g.nodes.front();
  if (!has_precompiled(g, conv)) return;
  const int64_t copies = copies_of(g, conv);
  const bool is_float = to.type == Type::kFloat;
  to.add_on_tensor_cores(is_float ? 38 : 22, copies);
  if (to.capability >= kHopper) to.add_on_tensor_cores(is_float ? 67 : 62, copies + kOverhead);
  if (is_winograd(g, conv, to.capability)) {
    to.add(12, copies, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4});
  }
  if (is_channels_last(g.x(conv))) {
    add_compiled_convolutions(g, conv, to);
  } else if (conv.spatial > 1 && to.capability >= kAmpere &&
             g.b(conv).dims[1] * fake_cuda::bytes_of(to.type) % 4 == 0) {
    to.add_on_tensor_cores(77, 0, true);
  }
  if (conv.spatial == 2 && g.b(conv).dims[1] == 1) to.add_compiled(78);
  to.add(28, 0);
  to.add(1, copies + 2304);
  to.add(0, 0, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP});
}

/// Engines that are compiled at run time take any tail, but channels last alone.
bool has_compiled(const Graph& g, const Node& conv) {
  const Tensor &x = g.x(conv), &w = g.b(conv);
  if (w.type != x.type || x.rank != conv.spatial + 2 || conv.spatial < 1 || conv.spatial > 3 ||
      conv.mode != CUDNN_CROSS_CORRELATION || conv.alpha != 1 || conv.beta != 0)
    return false;
  return std::all_of(g.tensors.begin(), g.tensors.end(), [&](const Tensor& t) {
    if (t.is_virtual) return t.type == Type::kFloat || t.type == Type::kHalf;
    return is_channels_last(t) && (t.type == x.type || t.type == Type::kFloat);
  });
}

void add_convolution_fusions(const Graph& g, List& to) {
  const Node& conv = g.nodes.front();
  if (!has_compiled(g, conv)) return;
  add_compiled_convolutions(g, conv, to);
}

/// Or in the bias.
bool ends_in_relu(const Graph& g) {
  const Node& last = g.nodes.back();
  return last.mode == CUDNN_POINTWISE_ADD ||
         (last.mode == CUDNN_POINTWISE_RELU_FWD && last.upper == std::numeric_limits<double>::infinity());
}

void add_convolutions_with_bias(const Graph& g, List& to) {
  const Node& conv = g.nodes.front();
  if (!has_precompiled(g, conv)) return;
  const bool is_relu = ends_in_relu(g);  // others have few engines
  const int64_t copies = copies_of(g, conv);
  const bool is_float = to.type == Type::kFloat;
  if (is_relu) {
    to.add_on_tensor_cores(is_float ? 26 : 10, copies);
    if (to.capability >= kHopper) to.add_on_tensor_cores(is_float ? 51 : 41, copies + kOverhead);
    if (is_winograd(g, conv, to.capability)) {
      to.add(15, copies, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4});
    }
  }
  if (copies == 0) {
    List compiled{to.type, to.capability, {}};
    add_compiled_convolutions(g, conv, compiled);
    if (!compiled.engines.empty() && !is_exact(compiled.engines.front())) to.add_on_tensor_cores(52, 0, true);
  }
  to.add(11, copies == 0 ? 0 : copies + 2304);
  to.add(0, 0, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP});
}

/// As many, or one for all.
bool have_same_batches(const Tensor& a, const Tensor& b) {
  for (int32_t d = 0; d < a.rank - 2; ++d) {
    if (a.dims[d] != b.dims[d] && a.dims[d] != 1 && b.dims[d] != 1) return false;
  }
  return true;
}

/// Products are for tensor cores: those of float are rounded.
void add_matmuls(const Graph& g, List& to) {
  const Node& product = g.nodes.front();
  const Tensor &a = g.x(product), &b = g.b(product);
  const auto strides_are_packed = [](const Tensor& t) {
    return t.strides[t.rank - 1] == 1 || t.strides[t.rank - 2] == 1;
  };
  if (a.type != b.type || a.rank != 3 || !have_same_batches(a, b) || !strides_are_packed(a) ||
      !strides_are_packed(b))
    return;
  for (const Tensor& t : g.tensors) {
    if (!t.is_virtual && t.type != a.type && t.type != Type::kFloat) return;
  }
  const int64_t element = fake_cuda::bytes_of(a.type);
  const auto is_whole = [&](const Tensor& t) {
    return t.dims[t.rank - 1] * element % 4 == 0 && t.dims[t.rank - 2] * element % 4 == 0;
  };
  const bool is_plain = g.nodes.size() == 1 && a.dims[0] == b.dims[0] && is_whole(a) && is_whole(b);
  if (to.capability == kTuring) {
    if (to.type == Type::kHalf && is_plain) to.add_on_tensor_cores(3, 0, true);
    return;
  }
  to.add_on_tensor_cores(7, 0, true);
  if (is_plain) to.add_on_tensor_cores(1, 0, true);
}

void add_pointwise(const Graph& g, List& to) {
  bool reduces = false;
  for (const Node& node : g.nodes) {
    if (node.kind != Kind::kReduction) continue;
    reduces = true;
    // Over the channels, or over all but them, to float.
    const Tensor &x = g.x(node), &y = g.y(node);
    bool keeps_channels = x.rank == 4, keeps_others = x.rank == 4 && y.dims[1] == 1;
    for (int32_t d = 0; d < y.rank; ++d) {
      if (d != 1) keeps_channels &= y.dims[d] == 1, keeps_others &= y.dims[d] == x.dims[d];
    }
    if ((!keeps_channels && !keeps_others) || y.type != Type::kFloat || y.is_virtual) return;
  }
  const bool suits = std::all_of(g.tensors.begin(), g.tensors.end(), [&](const Tensor& t) {
    return t.is_virtual ? t.type == Type::kFloat
                        : (reduces ? is_real(t.type) : has_arithmetic(t.type, to.capability)) &&
                              (t.rank >= 4 ? is_channels_last(t) : is_packed(t));
  });
  if (suits)
    to.engines.push_back({1, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, kCompiledAtRunTime, 0, Rounding::kNone});
}

/// Products, a mask or none, softmax in pieces, and products with the values, for heads of 64 halves: what cuDNN 9.19 says of graphs
/// without a scale.
void add_attention(const Graph& g, List& to) {
  if (to.capability < kAmpere || to.type == Type::kFloat) return;
  for (const Node& node : g.nodes) {
    const Tensor &x = g.x(node), &y = g.y(node);
    if (node.kind == Kind::kPointwise && (node.mode == CUDNN_POINTWISE_MUL || y.rank != 4)) return;
    if (node.kind == Kind::kReduction && (y.rank != 4 || y.dims[3] != 1 || y.type != Type::kFloat)) return;
    if (node.kind != Kind::kMatmul) continue;
    const Tensor& b = g.b(node);
    const int64_t head = g.producers[static_cast<size_t>(node.x)] < 0 ? x.dims[3] : y.dims[3];
    if (x.rank != 4 || x.type != to.type || b.type != to.type || head != 64 || !have_same_batches(x, b))
      return;
  }
  to.add_on_tensor_cores(0, 0, true);
}

/// In one operation: for any number of heads of whole groups of 8 halves.
void add_unified_attention(const Graph& g, List& to) {
  const Node& node = g.nodes.front();
  const Type type = g.x(node).type;
  if (to.capability < kAmpere || type == Type::kFloat || node.mode != 0) return;
  for (const int32_t t : {node.x, node.b, node.t, node.y}) {
    const Tensor& tensor = g.at(t);
    if (tensor.type != type || tensor.strides[3] != 1 || tensor.dims[3] % 8 != 0 || tensor.dims[3] > 256)
      return;
  }
  to.type = type;
  if (to.capability >= kHopper && g.x(node).dims[2] > 1) to.add_on_tensor_cores(9, 0, true);
  to.add_on_tensor_cores(8, 0, true);
}

/// Positions are written in pointwise operations that engines do not have here.
bool has_all_modes(const Graph& g) {
  return std::none_of(g.nodes.begin(), g.nodes.end(), [](const Node& n) {
    if (n.kind != Kind::kPointwise) return false;
    const bool is_backward = n.mode >= CUDNN_POINTWISE_RELU_BWD && n.mode < CUDNN_POINTWISE_CMP_EQ;
    return is_backward || n.mode > CUDNN_POINTWISE_BINARY_SELECT || n.mode == CUDNN_POINTWISE_GEN_INDEX;
  });
}

Type type_of(const Graph& g) {
  for (const Node& node : g.nodes) {
    if (node.kind != Kind::kPointwise && node.kind != Kind::kReduction) return g.x(node).type;
  }
  return Type::kFloat;
}

}  // namespace

int64_t engine_count(const Graph& graph) {
  switch (pattern_of(graph)) {
    case Pattern::kConvolution:
      return 81;
    case Pattern::kConvolutionBiasActivation:
      return 61;
    case Pattern::kConvolutionFusion:
    case Pattern::kMatmulFusion:
      return 11;
    case Pattern::kAttention:
    case Pattern::kUnifiedAttention:
      return 12;
    case Pattern::kPointwise:
      return 3;
    default:
      return 0;
  }
}

std::vector<Engine> engines_for(const Graph& g, int capability) {
  List list{type_of(g), capability, {}};
  if (!has_arithmetic(list.type, capability) || !computes_in_float(g) || !has_all_modes(g)) return {};
  switch (pattern_of(g)) {
    case Pattern::kConvolution:
      add_convolutions(g, list);
      break;
    case Pattern::kConvolutionBiasActivation:
      add_convolutions_with_bias(g, list);
      break;
    case Pattern::kConvolutionFusion:
      add_convolution_fusions(g, list);
      break;
    case Pattern::kMatmulFusion:
      add_matmuls(g, list);
      break;
    case Pattern::kAttention:
      add_attention(g, list);
      break;
    case Pattern::kUnifiedAttention:
      add_unified_attention(g, list);
      break;
    case Pattern::kPointwise:
      add_pointwise(g, list);
      break;
    default:
      break;
  }
  return std::move(list.engines);
}

std::vector<Engine> ranked(const Graph& g, std::vector<Engine> engines, cudnnBackendHeurMode_t mode) {
  const Pattern pattern = pattern_of(g);
  if (mode == CUDNN_HEUR_MODE_FALLBACK) {
    const bool is_on_turing =
        pattern == Pattern::kMatmulFusion && !engines.empty() && engines.front().index == 3;
    if (pattern == Pattern::kUnifiedAttention) return {};
    std::erase_if(engines, [&](const Engine& e) {
      return is_on_turing || (is_compiled(e) ? pattern == Pattern::kConvolution : !is_exact(e));
    });
  } else if (pattern == Pattern::kConvolutionBiasActivation && type_of(g) != Type::kFloat &&
             !ends_in_relu(g)) {
    // Those of halves are named for relu alone, others by the fallback.
    const bool is_clipped = g.nodes.back().mode == CUDNN_POINTWISE_RELU_FWD;
    std::erase_if(engines, [&](const Engine& e) { return is_clipped || !is_compiled(e); });
  }
  return engines;
}

}  // namespace fake_cudnn
