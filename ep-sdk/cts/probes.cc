#include "ep-sdk/cts/probes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tenon/ep/dispatch.hpp"

namespace tenon::cts {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

/// Numbers of both signs that float16 represents exactly, always the same; `base` shifts them.
Numbers pattern(const Dims& dims, double base = 0) {
  Tensor shape;
  shape.dims = dims;
  Numbers out;
  for (int64_t i = 0; i < shape.size(); ++i) out.push_back(base + static_cast<double>(i * 7 % 23 - 11) / 4);
  return out;
}

Tensor tensor_of(uint32_t dtype, Dims dims, const Numbers& values) {
  Tensor out;
  out.dtype = dtype;
  out.dims = std::move(dims);
  out.bytes.resize(ep::dtype_bytes(dtype, static_cast<uint64_t>(out.size())));
  ep::dispatch(ep::kNumericTypes + ep::kBoolType + ep::kSmallIntTypes, dtype, [&]<class T>() {
    for (size_t i = 0; i < values.size(); ++i)
      ep::store_element<T>(out.bytes.data(), static_cast<int64_t>(i),
                           static_cast<T>(static_cast<ep::Compute<T>>(values[i])));
  });
  return out;
}

Tensor floats(Dims dims, double base = 0) {
  const Numbers values = pattern(dims, base);
  return tensor_of(TENON_FLOAT32, std::move(dims), values);
}

/// A tensor with type and shape only.
Tensor shape_of(uint32_t dtype, Dims dims) {
  Tensor out;
  out.dtype = dtype;
  out.dims = std::move(dims);
  return out;
}

Numbers map(const Numbers& values, const std::function<double(double)>& f) {
  Numbers out;
  for (const double value : values) out.push_back(f(value));
  return out;
}

class Builtin {
 public:
  std::vector<Probe> make() {
    elementwise();
    binary();
    products();
    windows();
    moves();
    others();
    return std::move(out_);
  }

 private:
  void add(const std::string& name, NodeCase node) {
    const bool expected = std::all_of(node.outputs.begin(), node.outputs.end(), [](const Tensor& t) {
      return t.size() == 0 || !t.bytes.empty() || !t.strings.empty();
    });
    out_.push_back({name, std::move(node), expected});
  }

  void unary(const char* op, int since, const std::function<double(double)>& f, double base = 0) {
    const Dims dims = {2, 3, 5};
    const Numbers values = pattern(dims, base);
    for (const uint32_t dtype : {TENON_FLOAT32, TENON_FLOAT16}) {
      const std::string suffix = dtype == TENON_FLOAT32 ? "" : ".float16";
      add(op + suffix,
          {op, "", since, {}, {tensor_of(dtype, dims, values)}, {tensor_of(dtype, dims, map(values, f))}});
    }
  }

  void elementwise() {
    unary("Relu", 14, [](double x) { return std::max(x, 0.0); });
    unary("Sigmoid", 13, [](double x) { return 1 / (1 + std::exp(-x)); });
    unary("Tanh", 13, [](double x) { return std::tanh(x); });
    unary("Neg", 13, [](double x) { return -x; });
    unary("Abs", 13, [](double x) { return std::fabs(x); });
    unary("Exp", 13, [](double x) { return std::exp(x); });
    unary(
        "Sqrt", 13, [](double x) { return std::sqrt(x); }, 4);
    unary("Identity", 14, [](double x) { return x; });
    unary("LeakyRelu", 16, [](double x) { return x < 0 ? 0.01 * x : x; });
    unary("Elu", 6, [](double x) { return x < 0 ? std::exp(x) - 1 : x; });
  }

  void binary() {
    const std::pair<const char*, std::function<double(double, double)>> kOps[] = {
        {"Add", [](double a, double b) { return a + b; }},
        {"Sub", [](double a, double b) { return a - b; }},
        {"Mul", [](double a, double b) { return a * b; }},
        {"Div", [](double a, double b) { return a / b; }}};
    const Dims dims = {2, 3, 4}, row = {4};
    const Numbers a = pattern(dims), b = {1, -2, 4, 0.5};
    for (const auto& [op, f] : kOps) {
      Numbers result;
      for (size_t i = 0; i < a.size(); ++i) result.push_back(f(a[i], b[i % 4]));
      for (const bool constant_row : {false, true}) {
        Tensor second = tensor_of(TENON_FLOAT32, row, b);
        second.constant = constant_row;
        add(std::string(op) + (constant_row ? ".constant" : ""), {op,
                                                                  "",
                                                                  14,
                                                                  {},
                                                                  {tensor_of(TENON_FLOAT32, dims, a), second},
                                                                  {tensor_of(TENON_FLOAT32, dims, result)}});
      }
    }
    const Numbers left = {1, 2, 3, 4, 5}, right = {5, 4, 3, 2, 1};
    add("Add.int32", {"Add",
                      "",
                      14,
                      {},
                      {tensor_of(TENON_INT32, {5}, left), tensor_of(TENON_INT32, {5}, right)},
                      {tensor_of(TENON_INT32, {5}, {6, 6, 6, 6, 6})}});
    add("Greater", {"Greater",
                    "",
                    13,
                    {},
                    {tensor_of(TENON_FLOAT32, {5}, left), tensor_of(TENON_FLOAT32, {5}, right)},
                    {tensor_of(TENON_BOOL, {5}, {0, 0, 0, 1, 1})}});
    add("Equal.int64", {"Equal",
                        "",
                        13,
                        {},
                        {tensor_of(TENON_INT64, {5}, left), tensor_of(TENON_INT64, {5}, right)},
                        {tensor_of(TENON_BOOL, {5}, {0, 0, 1, 0, 0})}});
    add("Not",
        {"Not", "", 1, {}, {tensor_of(TENON_BOOL, {3}, {1, 0, 1})}, {tensor_of(TENON_BOOL, {3}, {0, 1, 0})}});
  }

  void products() {
    const Dims da = {2, 3, 5}, db = {5, 4};
    const Numbers a = pattern(da), b = pattern(db, 1);
    Numbers c;
    for (size_t row = 0; row < 6; ++row) {
      for (size_t column = 0; column < 4; ++column) {
        double sum = 0;
        for (size_t k = 0; k < 5; ++k) sum += a[row * 5 + k] * b[k * 4 + column];
        c.push_back(sum);
      }
    }
    for (const bool constant_weights : {false, true}) {
      Tensor weights = tensor_of(TENON_FLOAT32, db, b);
      weights.constant = constant_weights;
      const std::string suffix = constant_weights ? ".constant" : "";
      add("MatMul" + suffix, {"MatMul",
                              "",
                              13,
                              {},
                              {tensor_of(TENON_FLOAT32, da, a), weights},
                              {tensor_of(TENON_FLOAT32, {2, 3, 4}, c)}});
      add("Gemm" + suffix, {"Gemm",
                            "",
                            13,
                            {},
                            {tensor_of(TENON_FLOAT32, {6, 5}, a), weights, constant(floats({4}))},
                            {shape_of(TENON_FLOAT32, {6, 4})}});
    }
  }

  void windows() {
    using Ints = std::vector<int64_t>;
    const std::vector<Attribute> window = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
    add("Conv", {"Conv",
                 "",
                 11,
                 {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}},
                 {floats({1, 2, 6, 6}), constant(floats({3, 2, 3, 3})), constant(floats({3}))},
                 {shape_of(TENON_FLOAT32, {1, 3, 6, 6})}});
    add("MaxPool",
        {"MaxPool", "", 12, window, {floats({1, 2, 6, 6})}, {shape_of(TENON_FLOAT32, {1, 2, 3, 3})}});
    add("AveragePool",
        {"AveragePool", "", 11, window, {floats({1, 2, 6, 6})}, {shape_of(TENON_FLOAT32, {1, 2, 3, 3})}});
    add("GlobalAveragePool",
        {"GlobalAveragePool", "", 1, {}, {floats({1, 2, 6, 6})}, {shape_of(TENON_FLOAT32, {1, 2, 1, 1})}});
    add("Softmax", {"Softmax",
                    "",
                    13,
                    {{"axis", int64_t{-1}}},
                    {floats({2, 3, 5})},
                    {shape_of(TENON_FLOAT32, {2, 3, 5})}});
    const Tensor one = constant(tensor_of(TENON_FLOAT32, {2}, {1, 2})),
                 zero = constant(tensor_of(TENON_FLOAT32, {2}, {0, 1}));
    add("BatchNormalization", {"BatchNormalization",
                               "",
                               15,
                               {},
                               {floats({1, 2, 3, 3}), one, zero, zero, one},
                               {shape_of(TENON_FLOAT32, {1, 2, 3, 3})}});
    add("LayerNormalization", {"LayerNormalization",
                               "",
                               17,
                               {},
                               {floats({2, 3, 4}), constant(floats({4}))},
                               {shape_of(TENON_FLOAT32, {2, 3, 4})}});
    add("ReduceSum", {"ReduceSum",
                      "",
                      13,
                      {},
                      {floats({2, 3, 4}), constant(tensor_of(TENON_INT64, {1}, {1}))},
                      {shape_of(TENON_FLOAT32, {2, 1, 4})}});
  }

  void moves() {
    using Ints = std::vector<int64_t>;
    const Tensor x = floats({2, 3, 4});
    for (const bool constant_target : {true, false}) {
      Tensor target = tensor_of(TENON_INT64, {2}, {6, 4});
      target.constant = constant_target;
      Tensor y = x;
      y.dims = {6, 4};
      add(constant_target ? "Reshape.constant" : "Reshape", {"Reshape", "", 14, {}, {x, target}, {y}});
    }
    Tensor flat = x;
    flat.dims = {2, 12};
    add("Flatten", {"Flatten", "", 13, {}, {x}, {flat}});
    add("Transpose",
        {"Transpose", "", 13, {{"perm", Ints{2, 0, 1}}}, {x}, {shape_of(TENON_FLOAT32, {4, 2, 3})}});
    add("Concat", {"Concat",
                   "",
                   13,
                   {{"axis", int64_t{1}}},
                   {x, floats({2, 2, 4})},
                   {shape_of(TENON_FLOAT32, {2, 5, 4})}});
    add("Split", {"Split",
                  "",
                  13,
                  {{"axis", int64_t{2}}},
                  {x},
                  {shape_of(TENON_FLOAT32, {2, 3, 2}), shape_of(TENON_FLOAT32, {2, 3, 2})}});
    add("Gather", {"Gather",
                   "",
                   13,
                   {},
                   {x, tensor_of(TENON_INT64, {2}, {1, 0})},
                   {shape_of(TENON_FLOAT32, {2, 3, 4})}});
    add("Shape", {"Shape", "", 15, {}, {x}, {tensor_of(TENON_INT64, {3}, {2, 3, 4})}});
  }

  void others() {
    const Tensor x = tensor_of(TENON_FLOAT32, {5}, {1, -2, 0, 3, -4});
    add("Cast.int32", {"Cast",
                       "",
                       13,
                       {{"to", int64_t{TENON_INT32}}},
                       {x},
                       {tensor_of(TENON_INT32, {5}, {1, -2, 0, 3, -4})}});
    add("Cast.bool",
        {"Cast", "", 13, {{"to", int64_t{TENON_BOOL}}}, {x}, {tensor_of(TENON_BOOL, {5}, {1, 1, 0, 1, 1})}});
    add("Cast.int4", {"Cast",
                      "",
                      21,
                      {{"to", int64_t{TENON_INT4}}},
                      {x},
                      {tensor_of(TENON_INT4, {5}, {1, -2, 0, 3, -4})}});
    add("NonZero", {"NonZero", "", 13, {}, {x}, {tensor_of(TENON_INT64, {1, 4}, {0, 1, 3, 4})}});
    const Tensor words = strings({2}, {"open", "shut"});
    add("Identity.string", {"Identity", "", 14, {}, {words}, {words}});
    add("SequenceConstruct", {"SequenceConstruct", "", 11, {}, {x, x}, {sequence(TENON_FLOAT32, {x, x})}});
  }

  std::vector<Probe> out_;
};

uint32_t dtype_of(const std::string& name) {
  for (uint32_t dtype = 1; dtype <= TENON_FLOAT6E3M2; ++dtype) {
    if (name == ep::dtype_name(dtype)) return dtype;
  }
  throw std::runtime_error("'" + name + "' is not an element type");
}

Tensor read_tensor(const Json& json) {
  const uint32_t dtype = dtype_of(json.at("dtype"));
  const Dims dims = json.at("dims").get<Dims>();
  if (!json.contains("values")) return shape_of(dtype, dims);
  Tensor out = dtype == TENON_STRING ? strings(dims, json["values"].get<std::vector<std::string>>())
                                     : tensor_of(dtype, dims, json["values"].get<Numbers>());
  const size_t given = json["values"].size();
  if (static_cast<int64_t>(given) != out.size())
    throw std::runtime_error(std::to_string(given) + " values for " + std::to_string(out.size()) +
                             " elements");
  out.constant = json.value("constant", false);
  return out;
}

AttributeValue read_attribute(const Json& json) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<float>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array() && !json.empty()) {
    if (json[0].is_string()) return json.get<std::vector<std::string>>();
    if (json[0].is_number_integer()) return json.get<std::vector<int64_t>>();
  }
  return json.get<std::vector<float>>();
}

}  // namespace

Probe read_case_file(const std::string& path) {
  try {
    const Json json = Json::parse(std::ifstream(std::filesystem::path(path)));
    Probe out;
    out.name = std::filesystem::path(path).stem().stem().string();
    out.node.op_type = json.at("op_type");
    out.node.domain = json.value("domain", "");
    out.node.since_version = json.value("since", 1);
    const Json attributes = json.value("attributes", Json::object());
    for (const auto& [name, value] : attributes.items())
      out.node.attributes.push_back({name, read_attribute(value)});
    for (const Json& input : json.at("inputs")) out.node.inputs.push_back(read_tensor(input));
    out.has_expected = true;
    for (const Json& output : json.at("outputs")) {
      out.node.outputs.push_back(read_tensor(output));
      out.has_expected = out.has_expected && output.contains("values");
    }
    return out;
  } catch (const std::exception& e) {
    throw std::runtime_error("case file '" + path + "': " + e.what());
  }
}

std::vector<Probe> large_probes() {
  const auto probe = [](const char* op, int since, std::vector<Tensor> inputs, Dims out) {
    const NodeCase node = {op, "", since, {}, std::move(inputs), {shape_of(TENON_FLOAT32, std::move(out))}};
    return Probe{std::string(op) + ".large", node, false};
  };
  return {probe("Relu", 14, {floats({256, 1000})}, {256, 1000}),
          probe("Add", 14, {floats({256, 1000}), floats({1000})}, {256, 1000}),
          probe("Tanh", 13, {floats({256, 1000})}, {256, 1000}),
          probe("MatMul", 13, {floats({192, 160}), floats({160, 224})}, {192, 224}),
          probe("Softmax", 13, {floats({512, 300})}, {512, 300}),
          probe("Conv", 11, {floats({1, 16, 40, 40}), constant(floats({24, 16, 3, 3}))}, {1, 24, 38, 38})};
}

std::vector<Probe> failing_probes() {
  const auto gather = [](const char* name, uint32_t dtype) {
    const NodeCase node = {"Gather",
                           "",
                           13,
                           {},
                           {floats({2, 3, 4}), tensor_of(dtype, {2}, {1, 7})},
                           {shape_of(TENON_FLOAT32, {2, 3, 4})}};
    return Probe{name, node, false};
  };
  return {gather("Gather.out_of_range", TENON_INT64), gather("Gather.int32.out_of_range", TENON_INT32)};
}

std::vector<Probe> all_probes(const Target& target) {
  std::vector<std::string> files;
  for (const std::string& folder : target.cases) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string path = entry.path().string();
      if (path.size() > 10 && path.compare(path.size() - 10, 10, ".case.json") == 0) files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Probe> out;
  for (const std::string& file : files) out.push_back(read_case_file(file));
  for (Probe& probe : Builtin().make()) out.push_back(std::move(probe));
  return out;
}

}  // namespace tenon::cts
