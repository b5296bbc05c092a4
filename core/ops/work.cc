#include "core/ops/work.h"

#include <algorithm>
#include <string_view>

namespace tenon::ops {
namespace {

constexpr double kOthers = 4;  // operations per element of an operator that is not listed

double dim_of(const ir::Shape& shape, int at) {
  const auto rank = static_cast<int>(shape.rank());
  if (at < 0) at += rank;
  if (at < 0 || at >= rank) return shape.has_rank ? 1 : kAssumedDim;
  const ir::Dim& dim = shape.dims[static_cast<size_t>(at)];
  return static_cast<double>(dim.known() ? dim.value : kAssumedDim);
}

/// The shapes of one node.
class Shapes {
 public:
  Shapes(const ir::Graph& graph, const ir::Node& node) : graph_(graph), node_(node) {}

  const ir::Shape& input(size_t i) const { return of(node_.inputs, i); }
  const ir::Shape& output() const { return of(node_.outputs, 0); }

 private:
  const ir::Shape& of(const std::vector<ir::ValueId>& values, size_t i) const {
    static const ir::Shape none;
    return i < values.size() && values[i] != ir::kNone ? graph_.value(values[i]).type.shape : none;
  }
  const ir::Graph& graph_;
  const ir::Node& node_;
};

/// Multiply-adds of a filter with shape [filters, channels / group, ...] per element of `elements`.
double of_filter(const ir::Shape& elements, const ir::Shape& filter) {
  return 2 * count_elements(elements) * count_elements(filter) / std::max(1.0, dim_of(filter, 0));
}

double flops_of(const ir::Node& node, const Shapes& s) {
  const std::string_view op = node.op_type;
  if (op == "MatMulNBits")
    return 2 * count_elements(s.output()) * static_cast<double>(node.int_or("K", kAssumedDim));
  if (op == "Gemm" || op == "QGemm")
    return 2 * count_elements(s.output()) * dim_of(s.input(0), node.int_or("transA", 0) != 0 ? 0 : 1);
  if (op.find("MatMul") != op.npos) return 2 * count_elements(s.output()) * dim_of(s.input(0), -1);
  if (op == "ConvTranspose") return of_filter(s.input(0), s.input(1));
  if (op == "QLinearConv") return of_filter(s.output(), s.input(3));
  if (op == "Conv" || op == "ConvInteger" || op == "FusedConv") return of_filter(s.output(), s.input(1));
  if (op == "LSTM" || op == "GRU" || op == "RNN") {  // one product with W and one with R per step and batch
    return 2 * dim_of(s.input(0), 0) * dim_of(s.input(0), 1) *
           (count_elements(s.input(1)) + count_elements(s.input(2)));
  }
  if (op.find("Attention") != op.npos)  // of each query with each key and each value
    return 4 * count_elements(s.input(0)) * dim_of(s.input(1), -2);
  return kOthers * std::max(count_elements(s.output()), count_elements(s.input(0)));
}

}  // namespace

double count_elements(const ir::Shape& shape) {
  if (!shape.has_rank) return kAssumedDim;
  double out = 1;
  for (const ir::Dim& dim : shape.dims) out *= static_cast<double>(dim.known() ? dim.value : kAssumedDim);
  return out;
}

double count_bytes(const ir::Type& type) {
  constexpr double kOther = 8;
  if (type.inner != nullptr) return type.kind == ir::ValueKind::kMap ? kOther : count_bytes(*type.inner);
  const uint32_t bits = ir::element_bits(type.element);
  return count_elements(type.shape) * (bits == 0 ? kOther : bits / 8.0);
}

Work work_of(const ir::Graph& graph, const ir::Node& node) {
  Work out;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const ir::ValueId value : *values) {
      if (value != ir::kNone) out.bytes += count_bytes(graph.value(value).type);
    }
  }
  out.flops = flops_of(node, Shapes(graph, node));
  return out;
}

}  // namespace tenon::ops
