// What descriptors have to hold when they are finalized. Answers are those of cuDNN 9.19.
#include <algorithm>
#include <cstdlib>

#include "descriptor.h"
#include "engines.h"
#include "graph.h"
#include "handle.h"

namespace fake_cudnn {
namespace {

constexpr cudnnStatus_t kBad = CUDNN_STATUS_BAD_PARAM;

cudnnStatus_t finalize_tensor(const Descriptor& d) {
  const auto dims = d.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = d.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  const auto type = d.one<int32_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 || type == CUDNN_DATA_INT8x32)
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "a tensor of a deprecated type");
  if (type < CUDNN_DATA_FLOAT || type > CUDNN_DATA_COMPLEX_FP64 || type == CUDNN_DATA_FAST_FLOAT_FOR_FP8)
    return failed(kBad, "a tensor of no type");
  if (dims.empty() || dims.size() > kMostDims || dims.size() != strides.size())
    return failed(kBad, "a tensor needs 1 to 8 dims, and as many strides");
  const auto is_negative = [](int64_t value) { return value < 0; };
  if (std::any_of(dims.begin(), dims.end(), is_negative) ||
      std::any_of(strides.begin(), strides.end(), is_negative))
    return failed(kBad, "a tensor with a negative dim or stride");
  const auto alignment = d.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  const int64_t element = std::max<int64_t>(fake_cuda::bytes_of(type_of(type)), 1);
  if (alignment <= 0 || alignment % element != 0)
    return failed(kBad, "a tensor whose alignment is none of its elements");
  const bool is_scalar = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; });
  if (d.one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false) && !is_scalar)
    return failed(kBad, "a tensor by value has more than one element");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_convolution(const Descriptor& d) {
  const auto spatial = d.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0);
  if (spatial < 1 || spatial > kMostSpatial) return failed(kBad, "a convolution needs 1 to 6 spatial dims");
  const auto suits = [&](cudnnBackendAttributeName_t name, bool may_lack, int64_t least) {
    const auto list = d.all<int64_t>(name);
    if (list.empty()) return may_lack;
    return static_cast<int64_t>(list.size()) == spatial &&
           std::all_of(list.begin(), list.end(), [&](int64_t value) { return value >= least; });
  };
  const bool is_right = suits(CUDNN_ATTR_CONVOLUTION_DILATIONS, false, 1) &&
                        suits(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, false, 1) &&
                        suits(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, true, 0) &&
                        suits(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, true, 0);
  return is_right ? CUDNN_STATUS_SUCCESS
                  : failed(kBad, "a convolution whose lists do not suit its spatial dims");
}

cudnnStatus_t finalize_reduction(const Descriptor& d) {
  const auto mode = d.one<int32_t>(CUDNN_ATTR_REDUCTION_OPERATOR, -1);
  if (mode < CUDNN_REDUCE_TENSOR_ADD || mode > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
    return failed(kBad, "no such reduction");
  return mode <= CUDNN_REDUCE_TENSOR_AMAX
             ? CUDNN_STATUS_SUCCESS
             : failed(CUDNN_STATUS_NOT_SUPPORTED, "a reduction that no engine has");
}

using Dims = std::span<const int64_t>;
Dims dims_of(const Descriptor* tensor) {
  return tensor == nullptr ? Dims() : tensor->all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

cudnnStatus_t finalize_convolution_forward(const Descriptor& d) {
  const Descriptor* const c = d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  const Dims x = dims_of(d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X)),
             w = dims_of(d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W)),
             y = dims_of(d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
  if (c == nullptr || x.empty() || w.empty() || y.empty())
    return failed(kBad, "a convolution lacks a descriptor");
  const auto spatial = static_cast<size_t>(c->one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0));
  if (x.size() != w.size() || x.size() != y.size() || spatial + 2 > x.size())
    return failed(kBad, "a convolution whose tensors have other ranks");
  if (y[0] != x[0] || y[1] != w[0])
    return failed(kBad, "a convolution whose result has other images or channels");
  if (w[1] == 0 || x[1] == 0 || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0)
    return failed(kBad, "a convolution whose channels are no whole groups");
  const auto at = [&](cudnnBackendAttributeName_t name, size_t i) {
    const auto list = c->all<int64_t>(name);
    return list.empty() ? 0 : list[i];
  };
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t window = (w[2 + i] - 1) * at(CUDNN_ATTR_CONVOLUTION_DILATIONS, i) + 1;
    const int64_t room = x[2 + i] + at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, i) +
                         at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, i) - window;
    if (room < 0 || y[2 + i] != room / at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, i) + 1)
      return failed(kBad, "a convolution whose result has another size");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_pointwise(const Descriptor& d) {
  const Descriptor* const p = d.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const int32_t mode =
      p == nullptr ? CUDNN_POINTWISE_ADD : p->one<int32_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  const size_t x = dims_of(d.child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)).size();
  const size_t y = dims_of(d.child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)).size();
  const size_t b = dims_of(d.child(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)).size();
  const size_t t = dims_of(d.child(CUDNN_ATTR_OPERATION_POINTWISE_TDESC)).size();
  const bool is_right = x == y && (!has_second(mode) || b == x) && (!has_third(mode) || t == x);
  return is_right ? CUDNN_STATUS_SUCCESS
                  : failed(kBad, "a pointwise operation whose tensors have other ranks, or that lacks one");
}

cudnnStatus_t finalize_matmul(const Descriptor& d) {
  const Dims a = dims_of(d.child(CUDNN_ATTR_OPERATION_MATMUL_ADESC)),
             b = dims_of(d.child(CUDNN_ATTR_OPERATION_MATMUL_BDESC)),
             c = dims_of(d.child(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  if (a.size() < 2 || b.size() < 2 || c.size() < 2) return failed(kBad, "a product lacks a matrix");
  if (a.size() != b.size() || a.size() != c.size())
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "a product whose matrices have other ranks");
  const size_t m = a.size() - 2, n = a.size() - 1;
  if (a[n] != b[m] || a[m] != c[m] || b[n] != c[n])
    return failed(kBad, "a product whose matrices do not suit each other");
  for (size_t i = 0; i < m; ++i) {
    if (a[i] == 0 || b[i] == 0 || (a[i] % b[i] != 0 && b[i] % a[i] != 0) || c[i] != std::max(a[i], b[i]))
      return failed(kBad, "a product whose batches do not suit each other");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_attention(const Descriptor& d) {
  const Dims q = dims_of(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC)),
             k = dims_of(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC)),
             v = dims_of(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC)),
             o = dims_of(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC));
  if (q.empty() || k.empty() || v.empty() || o.empty())
    return failed(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "attention lacks a tensor");
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || o.size() != 4)
    return failed(kBad, "attention is of tensors with four dims");
  const bool suits = k[0] == q[0] && v[0] == q[0] && o[0] == q[0] && k[1] > 0 && v[1] > 0 &&
                     q[1] % k[1] == 0 && q[1] % v[1] == 0 && o[1] == q[1] && k[2] == v[2] && o[2] == q[2] &&
                     k[3] == q[3] && o[3] == v[3];
  return suits ? CUDNN_STATUS_SUCCESS : failed(kBad, "attention whose tensors do not suit each other");
}

/// 90 for {..., "deviceVer": 900, ...}; 0 if that is not there.
int capability_in(const Descriptor* device) {
  if (device == nullptr) return 0;
  const auto text = device->all<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  const std::string json(text.begin(), text.end());
  const size_t at = json.find("\"deviceVer\"");
  if (at == std::string::npos) return 0;
  const size_t colon = json.find(':', at);
  return colon == std::string::npos
             ? 0
             : static_cast<int>(std::strtol(json.c_str() + colon + 1, nullptr, 10) / 10);
}

/// That of the descriptor of a device, or of the device.
int capability_of(const Descriptor& d, cudnnBackendAttributeName_t name) {
  const Descriptor* const device = d.child(name);
  return device != nullptr && device->capability != 0 ? device->capability : fake_cuda::compute_capability();
}

cudnnStatus_t finalize_device(Descriptor& d) {
  d.capability = capability_in(&d);
  if (d.has(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION))
    return d.capability != 0 ? CUDNN_STATUS_SUCCESS : failed(kBad, "a text that describes no device");
  return fake_cuda::current_context() != nullptr
             ? CUDNN_STATUS_SUCCESS
             : failed(CUDNN_STATUS_NOT_INITIALIZED, "no context is current");
}

cudnnStatus_t check_handle(const Descriptor& d, cudnnBackendAttributeName_t name) {
  if (!d.has(name) || is_usable(d.one<cudnnHandle_t>(name, nullptr))) return CUDNN_STATUS_SUCCESS;
  return failed(kBad, "a handle of another context, or none");
}

cudnnStatus_t finalize_graph(Descriptor& d) {
  if (const cudnnStatus_t status = check_handle(d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  auto made = std::make_shared<Graph>();
  const cudnnStatus_t status = make_graph(d, made.get());
  if (status == CUDNN_STATUS_SUCCESS) d.graph = std::move(made);
  return status;
}

cudnnStatus_t finalize_engine(Descriptor& d) {
  const Descriptor* const graph = d.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (graph == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "an engine without a graph");
  const auto index = d.one<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  d.graph = graph->graph;
  d.capability = capability_of(d, CUDNN_ATTR_ENGINE_DEVICEPROP);
  for (const Engine& engine : engines_for(*d.graph, d.capability)) {
    if (engine.index == index) d.engine = std::make_shared<Engine>(engine);
  }
  return d.engine != nullptr ? CUDNN_STATUS_SUCCESS
                             : failed(CUDNN_STATUS_NOT_SUPPORTED, "an engine that does not do the graph");
}

cudnnStatus_t finalize_heuristics(Descriptor& d) {
  const Descriptor* const graph = d.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (graph == nullptr) return failed(kBad, "heuristics without a graph");
  d.graph = graph->graph;
  d.capability = capability_of(d, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  const auto mode = static_cast<cudnnBackendHeurMode_t>(
      d.one<int32_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_INSTANT));
  for (Engine& engine : ranked(*d.graph, engines_for(*d.graph, d.capability), mode))
    d.results.push_back(std::make_shared<Engine>(std::move(engine)));
  return CUDNN_STATUS_SUCCESS;  // also for a graph that no engine does
}

/// An engine configuration of an engine, a plan of a configuration.
cudnnStatus_t take_engine(Descriptor& d, cudnnBackendAttributeName_t name) {
  const Descriptor* const from = d.child(name);
  if (from == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the descriptor of an engine is missing");
  d.graph = from->graph;
  d.engine = from->engine;
  d.capability = from->capability;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_plan(Descriptor& d) {
  if (const cudnnStatus_t status = check_handle(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  return take_engine(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
}

cudnnStatus_t finalize_variant_pack(const Descriptor& d) {
  const bool is_right = d.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).size() ==
                        d.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size();
  return is_right ? CUDNN_STATUS_SUCCESS
                  : failed(kBad, "a variant pack needs as many pointers as unique ids");
}

}  // namespace

cudnnStatus_t finalize(Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalize_tensor(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return finalize_convolution(d);
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return finalize_reduction(d);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return finalize_convolution_forward(d);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return finalize_pointwise(d);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return finalize_matmul(d);
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return finalize_attention(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return finalize_graph(d);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return finalize_engine(d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return finalize_heuristics(d);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return take_engine(d, CUDNN_ATTR_ENGINECFG_ENGINE);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return finalize_variant_pack(d);
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      return finalize_device(d);
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace fake_cudnn
