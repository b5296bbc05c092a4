#include "core/ops/guard.h"

#include <algorithm>
#include <set>

#include "core/base/quote.h"

namespace tenon::ops {

namespace {

constexpr int64_t kMaxRank = 1024;  // ONNX's own limit for a rank that it derives from a length

constexpr int64_t kMaxParts = 65536;

/// ONNX narrows axes to int before it compares them with the rank.
Status check_axes(const ir::Attribute& attribute) {
  auto sane = [](int64_t axis) { return axis >= -kMaxRank && axis <= kMaxRank; };
  if (sane(attribute.i) && std::all_of(attribute.ints.begin(), attribute.ints.end(), sane))
    return ok_status();
  return invalid_model("attribute '", attribute.name, "' has an invalid axis");
}

/// Operators with an input whose length is a rank: a shape, or one number per axis.
bool reads_rank(std::string_view op) {
  static const std::set<std::string_view> names = {
      "AffineGrid", "CenterCropPad", "Col2Im", "ConstantOfShape", "Expand", "MaxUnpool", "Pad",
      "Reshape",    "Resize",        "Slice",  "Squeeze",         "Tile",   "Unsqueeze", "Upsample"};
  return names.count(op) != 0;
}

Status check_lengths(const ir::Node& node, const std::vector<InputView>& inputs) {
  for (size_t i = node.op_type == "ConstantOfShape" || node.op_type == "AffineGrid" ? 0 : 1;
       i < inputs.size(); ++i) {
    const ir::Type* type = inputs[i].type;
    if (type == nullptr || !type->is_tensor() || type->shape.rank() != 1) continue;
    const bool index = type->element == ir::ElementType::kInt64 || type->element == ir::ElementType::kInt32;
    if (index && type->shape.dims[0].value > kMaxRank) {
      return invalid_model("input ", i, " has ", type->shape.dims[0].value, " entries, one per axis");
    }
  }
  return ok_status();
}

/// ONNX parses the equation character by character. It loops for ever on anything but letters and one "..." per
/// term.
Status check_equation(std::string_view equation) {
  constexpr std::string_view kDots = "...";
  const auto wrong = [&](std::string_view why) {
    return invalid_model("attribute 'equation' is ", quote(equation), ": ", why);
  };
  std::string plain;
  for (const char c : equation) {
    if (c != ' ') plain += c;
  }
  size_t begin = 0;
  bool dotted = false, right = false;
  while (begin < plain.size()) {
    const std::string_view rest = std::string_view(plain).substr(begin);
    const bool letter = (rest[0] >= 'a' && rest[0] <= 'z') || (rest[0] >= 'A' && rest[0] <= 'Z');
    size_t length = 1;
    if (rest.substr(0, 2) == "->") {
      if (right) return wrong("it has two '->'");
      right = true;
      dotted = false;
      length = 2;
    } else if (rest.substr(0, 3) == kDots) {
      if (dotted) return wrong("a term has '...' twice");
      dotted = true;
      length = kDots.size();
    } else if (rest[0] == ',' && !right) {
      dotted = false;
    } else if (!letter) {
      return wrong(str_cat("only letters, ',', '->' and '...' are allowed, not '",
                           printable(rest.substr(0, 1)), "' at character ", begin + 1));
    }
    begin += length;
  }
  return ok_status();
}

}  // namespace

Status guard_inference(const ir::Node& node, const std::vector<InputView>& inputs,
                       const AttributeValues* attributes) {
  for (const ir::Attribute& own : node.attributes) {
    const ir::Attribute* attribute = effective_attribute(node, own.name, attributes);
    if (attribute == nullptr) continue;
    if (own.name == "axis" || own.name == "axes") RETURN_IF_ERROR(check_axes(*attribute));
    if (own.name == "equation" && node.is("Einsum")) RETURN_IF_ERROR(check_equation(attribute->s));
    if (own.name == "batch_dims" && (attribute->i < 0 || attribute->i > kMaxRank)) {
      return invalid_model("attribute 'batch_dims' must be at least 0 and at most the rank");
    }
    // A node may omit the last outputs.
    if (own.name == "num_outputs" &&
        (attribute->i < static_cast<int64_t>(node.outputs.size()) || attribute->i > kMaxParts)) {
      return invalid_model("attribute 'num_outputs' is ", attribute->i, ", the node has ",
                           node.outputs.size(), " outputs");
    }
  }
  return node.domain.empty() && reads_rank(node.op_type) ? check_lengths(node, inputs) : ok_status();
}

}  // namespace tenon::ops
