#include "graph.h"

#include <algorithm>

namespace fake_cudnn {
namespace {

using fake_cuda::Type;

Tensor tensor_of(const Descriptor& d) {
  Tensor out;
  out.uid = d.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
  out.type = type_of(d.one<int32_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  const auto dims = d.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = d.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  out.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out.dims);
  std::copy(strides.begin(), strides.end(), out.strides);
  out.alignment = d.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  out.is_virtual = d.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false) ? 1 : 0;
  out.is_value = d.one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false) ? 1 : 0;
  return out;
}

bool is_same(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.has_dims_of(b) && std::equal(a.strides, a.strides + a.rank, b.strides) &&
         a.is_virtual == b.is_virtual && a.is_value == b.is_value;
}

class Builder {
 public:
  explicit Builder(Graph& out) : g_(out) {}

  cudnnStatus_t add(const Descriptor& operation) {
    Node node;
    switch (operation.type) {
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        add_convolution(operation, node);
        break;
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        add_pointwise(operation, node);
        break;
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        add_matmul(operation, node);
        break;
      case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
        add_attention(operation, node);
        break;
      default:
        add_reduction(operation, node);
    }
    if (is_contradictory_)
      return failed(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "two tensors with the same unique id");
    g_.nodes.push_back(node);
    return CUDNN_STATUS_SUCCESS;
  }

  /// Each node behind those it reads from.
  cudnnStatus_t sort() {
    g_.producers.assign(g_.tensors.size(), -1);
    for (const Node& node : g_.nodes) {
      if (node.y < 0) return failed(CUDNN_STATUS_BAD_PARAM, "an operation without a result");
      int32_t& producer = g_.producers[static_cast<size_t>(node.y)];
      if (producer >= 0)
        return failed(CUDNN_STATUS_BAD_PARAM, "a tensor that is the result of two operations");
      producer = 0;
    }
    std::vector<Node> sorted;
    std::vector<bool> is_done(g_.nodes.size(), false);
    std::vector<int32_t> made(g_.tensors.size(), -1);
    const auto can_read = [&](int32_t tensor) {
      return tensor < 0 || g_.producers[static_cast<size_t>(tensor)] < 0 ||
             made[static_cast<size_t>(tensor)] >= 0;
    };
    while (sorted.size() < g_.nodes.size()) {
      const size_t before = sorted.size();
      for (size_t i = 0; i < g_.nodes.size(); ++i) {
        const Node& node = g_.nodes[i];
        if (is_done[i] || !can_read(node.x) || !can_read(node.b) || !can_read(node.t) || !can_read(node.s))
          continue;
        made[static_cast<size_t>(node.y)] = static_cast<int32_t>(sorted.size());
        sorted.push_back(node);
        is_done[i] = true;
      }
      if (sorted.size() == before)
        return failed(CUDNN_STATUS_BAD_PARAM, "operations that need each other's results");
    }
    g_.nodes = std::move(sorted);
    g_.producers = std::move(made);
    return CUDNN_STATUS_SUCCESS;
  }

 private:
  /// The place of a tensor in the list.
  int32_t place(const Descriptor* tensor) {
    if (tensor == nullptr) return -1;
    const Tensor made = tensor_of(*tensor);
    for (size_t i = 0; i < g_.tensors.size(); ++i) {
      if (g_.tensors[i].uid != made.uid) continue;
      is_contradictory_ |= !is_same(g_.tensors[i], made);
      return static_cast<int32_t>(i);
    }
    g_.tensors.push_back(made);
    return static_cast<int32_t>(g_.tensors.size()) - 1;
  }

  void add_convolution(const Descriptor& d, Node& to) {
    const Descriptor& c = *d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
    to.kind = Kind::kConvolution;
    to.mode = c.one<int32_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CONVOLUTION);
    to.compute = c.one<int32_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    to.x = place(d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
    to.b = place(d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
    to.y = place(d.child(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
    to.spatial = static_cast<int32_t>(c.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0));
    const auto copy = [&](cudnnBackendAttributeName_t name, int64_t* list) {
      const auto from = c.all<int64_t>(name);
      std::copy(from.begin(), from.end(), list);
    };
    copy(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, to.pre);
    copy(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, to.post);
    copy(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, to.stride);
    copy(CUDNN_ATTR_CONVOLUTION_DILATIONS, to.dilation);
    to.alpha = d.real(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1);
    to.beta = d.real(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0);
  }

  void add_pointwise(const Descriptor& d, Node& to) {
    const Descriptor none{};
    const Descriptor* const set = d.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const Descriptor& p = set == nullptr ? none : *set;
    to.kind = Kind::kPointwise;
    to.mode = p.one<int32_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    to.compute = p.one<int32_t>(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    to.x = place(d.child(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    if (has_second(to.mode)) to.b = place(d.child(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    if (has_third(to.mode)) to.t = place(d.child(CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
    to.y = place(d.child(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    to.alpha = d.real(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
    to.alpha2 = d.real(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
    to.lower = p.real(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
    to.upper = p.real(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, std::numeric_limits<double>::infinity());
    to.slope = p.real(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
    to.elu = p.real(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1);
    to.softplus = p.real(CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1);
    to.swish = p.real(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1);
    to.axis = static_cast<int32_t>(p.one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1));
  }

  void add_matmul(const Descriptor& d, Node& to) {
    const Descriptor* const m = d.child(CUDNN_ATTR_OPERATION_MATMUL_DESC);
    to.kind = Kind::kMatmul;
    if (m != nullptr) to.compute = m->one<int32_t>(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    to.x = place(d.child(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    to.b = place(d.child(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    to.y = place(d.child(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  }

  void add_attention(const Descriptor& d, Node& to) {
    to.kind = Kind::kAttention;
    to.x = place(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC));
    to.b = place(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC));
    to.t = place(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC));
    to.s = place(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC));
    to.y = place(d.child(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC));
    for (const auto name :
         {CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC,
          CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC,
          CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC})
      to.mode |= d.has(name);
  }

  void add_reduction(const Descriptor& d, Node& to) {
    const Descriptor* const r = d.child(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    to.kind = Kind::kReduction;
    if (r != nullptr) {
      to.mode = r->one<int32_t>(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_REDUCE_TENSOR_ADD);
      to.compute = r->one<int32_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    }
    to.x = place(d.child(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    to.y = place(d.child(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  }

  Graph& g_;
  bool is_contradictory_ = false;
};

}  // namespace

int Graph::uses_of(int32_t tensor) const {
  int out = 0;
  for (const Node& node : nodes)
    out += (node.x == tensor) + (node.b == tensor) + (node.t == tensor) + (node.s == tensor);
  return out;
}

Type type_of(int32_t cudnn_type) {
  switch (cudnn_type) {
    case CUDNN_DATA_FLOAT:
      return Type::kFloat;
    case CUDNN_DATA_DOUBLE:
      return Type::kDouble;
    case CUDNN_DATA_HALF:
      return Type::kHalf;
    case CUDNN_DATA_BFLOAT16:
      return Type::kBfloat;
    case CUDNN_DATA_INT8:
      return Type::kInt8;
    case CUDNN_DATA_UINT8:
      return Type::kUint8;
    case CUDNN_DATA_INT32:
      return Type::kInt32;
    case CUDNN_DATA_INT64:
      return Type::kInt64;
    case CUDNN_DATA_BOOLEAN:
      return Type::kBool;
    default:
      return Type::kNone;
  }
}

bool has_second(int32_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_ADD_SQUARE:
    case CUDNN_POINTWISE_DIV:
    case CUDNN_POINTWISE_MAX:
    case CUDNN_POINTWISE_MIN:
    case CUDNN_POINTWISE_MOD:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_POW:
    case CUDNN_POINTWISE_SUB:
    case CUDNN_POINTWISE_ATAN2:
    case CUDNN_POINTWISE_LOGICAL_AND:
    case CUDNN_POINTWISE_LOGICAL_OR:
    case CUDNN_POINTWISE_BINARY_SELECT:
      return true;
    default:
      return mode >= CUDNN_POINTWISE_CMP_EQ && mode <= CUDNN_POINTWISE_CMP_LE;
  }
}

bool has_third(int32_t mode) { return mode == CUDNN_POINTWISE_BINARY_SELECT; }

cudnnStatus_t make_graph(const Descriptor& descriptor, Graph* out) {
  const auto found = descriptor.values.find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (found == descriptor.values.end())
    return failed(CUDNN_STATUS_BAD_PARAM, "an operation graph without operations");
  Builder builder(*out);
  for (const Shared& operation : found->second.descriptors) {
    if (const cudnnStatus_t status = builder.add(*operation); status != CUDNN_STATUS_SUCCESS) return status;
  }
  return builder.sort();
}

}  // namespace fake_cudnn
