// The listing of a graph for people, tests and diffs.
#include <algorithm>
#include <cstring>

#include "core/base/quote.h"
#include "core/ir/graph.h"

namespace tenon::ir {
namespace {

constexpr int64_t kShownElements = 8;

template <class T>
std::string numbers(const Tensor& tensor) {
  std::string text;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    T value{};
    std::memcpy(&value, tensor.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    text += str_cat(i == 0 ? "" : ",", +value);
  }
  return text;
}

std::string strings(const Tensor& tensor) {
  std::string text;
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    text += str_cat(i == 0 ? "" : ",", quote(tensor.string_at(i)));
  return text;
}

/// FNV-1a, so that listings of different weights differ.
uint64_t digest(const std::byte* data, size_t size, uint64_t hash) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<uint64_t>(data[i])) * 0x100000001b3u;
  return hash;
}

std::string contents(const Tensor& tensor) {
  if (tensor.element_count() <= kShownElements) {
    switch (tensor.type()) {
      case ElementType::kFloat32:
        return numbers<float>(tensor);
      case ElementType::kFloat64:
        return numbers<double>(tensor);
      case ElementType::kInt8:
        return numbers<int8_t>(tensor);
      case ElementType::kUInt8:
      case ElementType::kBool:
        return numbers<uint8_t>(tensor);
      case ElementType::kInt16:
        return numbers<int16_t>(tensor);
      case ElementType::kUInt16:
        return numbers<uint16_t>(tensor);
      case ElementType::kInt32:
        return numbers<int32_t>(tensor);
      case ElementType::kUInt32:
        return numbers<uint32_t>(tensor);
      case ElementType::kInt64:
        return numbers<int64_t>(tensor);
      case ElementType::kUInt64:
        return numbers<uint64_t>(tensor);
      case ElementType::kString:
        return strings(tensor);
      default:
        break;
    }
  }
  uint64_t hash = digest(tensor.data(), tensor.byte_size(), 0xcbf29ce484222325u);
  const std::vector<int64_t>& offsets = tensor.string_offsets();
  hash = digest(reinterpret_cast<const std::byte*>(offsets.data()), offsets.size() * sizeof(int64_t), hash);
  return str_cat(tensor.byte_size(), " bytes, digest ", hash);
}

std::string tensor_text(const Tensor& tensor) {
  return Type::tensor(tensor.type(), tensor.shape()).to_string() + "{" + contents(tensor) + "}";
}

template <class List, class Text>
std::string join(const List& list, Text text) {
  std::string out;
  for (const auto& element : list) {
    if (!out.empty()) out += ", ";
    out += text(element);
  }
  return out;
}

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void print(const Graph& graph, size_t depth) {
    line(depth, "graph " + quote(graph.name));
    for (const Capture& capture : graph.captures())
      line(depth + 1, "capture " + declared(graph, capture.inner));
    for (ValueId id : graph.inputs()) line(depth + 1, "input " + declared(graph, id));
    for (const Default& entry : graph.defaults()) {
      line(depth + 1, "default " + name(graph, entry.input) + " = " + tensor_text(*entry.value));
    }
    print_constants(graph, depth + 1);
    for (NodeId id : order_of(graph)) print_node(graph, graph.node(id), depth + 1);
    for (ValueId id : graph.outputs()) line(depth + 1, "output " + declared(graph, id));
  }

 private:
  static std::string name(const Graph& graph, ValueId id) { return id == kNone ? "_" : graph.value(id).name; }

  static std::string declared(const Graph& graph, ValueId id) {
    return name(graph, id) + ": " + graph.value(id).type.to_string();
  }

  /// By id when there is no topological order: a broken graph must be printable too.
  static std::vector<NodeId> order_of(const Graph& graph) {
    auto order = graph.topological_order();
    if (order.ok()) return std::move(order).value();
    std::vector<NodeId> ids;
    for (NodeId id = 0; id < graph.node_limit(); ++id) {
      if (graph.has_node(id)) ids.push_back(id);
    }
    return ids;
  }

  /// By name: ids mean nothing to a reader.
  void print_constants(const Graph& graph, size_t depth) {
    std::vector<const Value*> constants;
    for (ValueId id = 0; id < graph.value_limit(); ++id) {
      if (!graph.has_value(id) || !graph.value(id).is_constant()) continue;
      const Value& value = graph.value(id);
      if (!value.uses.empty() || value.output_count != 0) constants.push_back(&value);
    }
    std::sort(constants.begin(), constants.end(), [](auto* a, auto* b) { return a->name < b->name; });
    for (const Value* value : constants) {
      line(depth, "constant " + value->name + " = " + tensor_text(*value->constant));
    }
  }

  void print_node(const Graph& graph, const Node& node, size_t depth) {
    std::string text =
        join(node.outputs, [&](ValueId id) { return id == kNone ? "_" : declared(graph, id); });
    text += " = ";
    if (!node.domain.empty()) text += node.domain + ".";
    text += node.op_type;
    if (!node.overload.empty()) text += ":" + node.overload;
    if (node.since_version != 0) text += "-" + std::to_string(node.since_version);
    text += "(" + join(node.inputs, [&](ValueId id) { return name(graph, id); }) + ")";

    std::vector<const Attribute*> sorted;
    for (const Attribute& attribute : node.attributes) sorted.push_back(&attribute);
    std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->name < b->name; });
    std::string attributes =
        join(sorted, [](const Attribute* a) { return a->name + "=" + attribute_text(*a); });
    if (!attributes.empty()) text += " {" + attributes + "}";
    line(depth, text + "  # " + quote(node.name));
    for (const Attribute* attribute : sorted) {
      for (const GraphBox& nested : attribute->graphs) print(*nested, depth + 1);
    }
  }

  static std::string attribute_text(const Attribute& a) {
    if (!a.reference.empty()) return "@" + a.reference;
    auto number = [](auto value) { return str_cat(value); };
    auto tensor = [](const TensorPtr& value) { return tensor_text(*value); };
    auto sparse = [](const SparseTensor& value) {
      return "sparse" + Shape::of(value.dims).to_string() + "(" + tensor_text(*value.values) + " at " +
             tensor_text(*value.indices) + ")";
    };
    auto type = [](const Type& value) { return value.to_string(); };
    switch (a.type) {
      case AttributeType::kUndefined:
        return "?";
      case AttributeType::kFloat:
        return number(a.f);
      case AttributeType::kInt:
        return number(a.i);
      case AttributeType::kString:
        return quote(a.s);
      case AttributeType::kFloats:
        return "[" + join(a.floats, number) + "]";
      case AttributeType::kInts:
        return "[" + join(a.ints, number) + "]";
      case AttributeType::kStrings:
        return "[" + join(a.strings, quote) + "]";
      case AttributeType::kTensor:
      case AttributeType::kTensors:
        return "[" + join(a.tensors, tensor) + "]";
      case AttributeType::kSparseTensor:
      case AttributeType::kSparseTensors:
        return "[" + join(a.sparse_tensors, sparse) + "]";
      case AttributeType::kTypeProto:
      case AttributeType::kTypeProtos:
        return "[" + join(a.types, type) + "]";
      case AttributeType::kGraph:
      case AttributeType::kGraphs:
        return str_cat("<", a.graphs.size(), a.graphs.size() == 1 ? " graph>" : " graphs>");
    }
    return "?";
  }

  void line(size_t depth, const std::string& text) { out_.append(2 * depth, ' ').append(text).append("\n"); }

  std::string out_;
};

}  // namespace

std::string to_text(const Graph& graph) {
  Printer printer;
  printer.print(graph, 0);
  return printer.take();
}

}  // namespace tenon::ir
