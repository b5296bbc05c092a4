// Builds ONNX messages for tests, field by field, so that tests need no protobuf classes and can be wrong on
// purpose.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::onnx::test {

/// A protobuf message. Field numbers are those of onnx-ml.proto.
class Message {
 public:
  Message& number(uint32_t field, int64_t value) {
    varint(field << 3);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& bytes(uint32_t field, std::string_view content) {
    varint(field << 3 | 2);
    varint(content.size());
    data_.append(content);
    return *this;
  }
  Message& real(uint32_t field, float value) {
    varint(field << 3 | 5);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    data_.append(raw, sizeof raw);
    return *this;
  }
  Message& message(uint32_t field, const Message& content) { return bytes(field, content.data_); }
  Message& raw(std::string_view content) {
    data_.append(content);
    return *this;
  }
  const std::string& data() const { return data_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) data_ += static_cast<char>(value | 0x80);
    data_ += static_cast<char>(value);
  }

  std::string data_;
};

constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kString = 8, kBool = 9;

template <class T>
std::string raw_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline Message tensor_type(int element, const std::vector<int64_t>& dims) {
  Message shape;
  for (int64_t dim : dims) shape.message(1, Message().number(1, dim));
  return Message().message(1, Message().number(1, element).message(2, shape));
}

inline Message value_info(std::string_view name, int element, const std::vector<int64_t>& dims) {
  return Message().bytes(1, name).message(2, tensor_type(element, dims));
}

inline Message tensor_head(std::string_view name, int element, const std::vector<int64_t>& dims) {
  Message tensor;
  for (int64_t dim : dims) tensor.number(1, dim);
  return tensor.number(2, element).bytes(8, name);
}

inline Message raw_tensor(std::string_view name, int element, const std::vector<int64_t>& dims,
                          std::string_view raw) {
  return tensor_head(name, element, dims).bytes(9, raw);
}

inline Message external_tensor(std::string_view name, const std::vector<int64_t>& dims,
                               std::string_view location, std::string_view offset = "",
                               std::string_view length = "") {
  Message tensor = tensor_head(name, kFloat, dims).number(14, 1);
  auto entry = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) tensor.message(13, Message().bytes(1, key).bytes(2, value));
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  return tensor;
}

inline Message node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, std::string_view name = "",
                    std::string_view domain = "") {
  Message message;
  for (const std::string& input : inputs) message.bytes(1, input);
  for (const std::string& output : outputs) message.bytes(2, output);
  message.bytes(3, name).bytes(4, op);
  if (!domain.empty()) message.bytes(7, domain);
  return message;
}

inline Message attribute(std::string_view name, int type) {
  return Message().bytes(1, name).number(20, type);
}
inline Message int_attribute(std::string_view name, int64_t value) {
  return attribute(name, 2).number(3, value);
}
inline Message graph_attribute(std::string_view name, const Message& graph) {
  return attribute(name, 5).message(6, graph);
}

inline Message graph_of(const std::vector<Message>& nodes, const std::vector<Message>& inputs,
                        const std::vector<Message>& outputs, const std::vector<Message>& initializers = {}) {
  Message graph;
  for (const Message& entry : nodes) graph.message(1, entry);
  graph.bytes(2, "graph");
  for (const Message& entry : initializers) graph.message(5, entry);
  for (const Message& entry : inputs) graph.message(11, entry);
  for (const Message& entry : outputs) graph.message(12, entry);
  return graph;
}

inline Message opset(int64_t version, std::string_view domain = "") {
  return Message().bytes(1, domain).number(2, version);
}

inline Message model_of(const Message& graph, int64_t version = 21, int64_t ir_version = 10) {
  return Message().number(1, ir_version).message(8, opset(version)).message(7, graph);
}

/// y = op(x) with x and y float32[2].
inline Message simple_model(const Message& the_node, const std::vector<Message>& initializers = {}) {
  return model_of(
      graph_of({the_node}, {value_info("x", kFloat, {2})}, {value_info("y", kFloat, {2})}, initializers));
}

}  // namespace tenon::onnx::test
