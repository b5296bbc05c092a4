#include "core/ops/shape_values.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/ops/arithmetic.h"

namespace tenon::ops {

namespace {

using Maybe = std::optional<Elements>;

/// The arguments of a rule.
struct Call {
  const ir::Node& node;
  const std::vector<ShapeInput>& inputs;
  const ir::Type& output_type;
  const AttributeValues* attributes;

  const Elements* elements(size_t index) const {
    return index < inputs.size() ? inputs[index].elements : nullptr;
  }
  const ir::Shape* shape(size_t index) const {
    if (index >= inputs.size() || inputs[index].type == nullptr) return nullptr;
    const ir::Type& type = *inputs[index].type;
    return type.is_tensor() && type.shape.has_rank ? &type.shape : nullptr;
  }
  bool given(size_t index) const { return index < node.inputs.size() && node.inputs[index] != ir::kNone; }
  const ir::Attribute* attribute(std::string_view name) const {
    return effective_attribute(node, name, attributes);
  }
  int64_t int_or(std::string_view name, int64_t fallback) const {
    const ir::Attribute* found = attribute(name);
    return found == nullptr ? fallback : found->i;
  }
};

/// All elements as numbers; nothing when one is unknown.
std::optional<std::vector<int64_t>> numbers(const Elements* elements) {
  if (elements == nullptr || !elements->all_known()) return std::nullopt;
  std::vector<int64_t> out;
  for (const Element& element : elements->items) out.push_back(element.value);
  return out;
}

/// A list that is an attribute in old opsets and an input in new ones.
std::optional<std::vector<int64_t>> list(const Call& call, std::string_view attribute, size_t input) {
  if (const ir::Attribute* found = call.attribute(attribute)) return found->ints;
  return numbers(call.elements(input));
}

/// Applies `function` elementwise; broadcasts a single element.
template <class Function>
Maybe zip(const Elements* a, const Elements* b, const Function& function) {
  if (a == nullptr || b == nullptr) return std::nullopt;
  const size_t na = a->items.size(), nb = b->items.size();
  if (na != nb && na != 1 && nb != 1) return std::nullopt;
  if (a->scalar != b->scalar && std::min(na, nb) != 1) return std::nullopt;
  Elements out;
  out.scalar = a->scalar && b->scalar;
  const size_t count = na == 1 ? nb : na;
  for (size_t i = 0; i < count; ++i)
    out.items.push_back(function(a->items[na == 1 ? 0 : i], b->items[nb == 1 ? 0 : i]));
  return out;
}

template <Element (*function)(const Element&, const Element&)>
Maybe binary(const Call& call) {
  return zip(call.elements(0), call.elements(1), function);
}

template <Element (*function)(const Element&, const Element&)>
Maybe variadic(const Call& call) {
  if (call.elements(0) == nullptr) return std::nullopt;
  Maybe out = *call.elements(0);
  for (size_t i = 1; out && i < call.inputs.size(); ++i) out = zip(&*out, call.elements(i), function);
  return out;
}

Maybe modulo_rule(const Call& call) {
  const bool c_style = call.int_or("fmod", 0) != 0;
  return zip(call.elements(0), call.elements(1),
             [c_style](const Element& a, const Element& b) { return arithmetic::modulo(a, b, c_style); });
}

Maybe negate(const Call& call) {
  const Elements zero{true, {Element(0)}};
  return zip(&zero, call.elements(0), arithmetic::subtract);
}

Maybe where(const Call& call) {
  const Elements *condition = call.elements(0), *a = call.elements(1), *b = call.elements(2);
  if (condition == nullptr || a == nullptr || b == nullptr) return std::nullopt;
  const size_t count = std::max({condition->items.size(), a->items.size(), b->items.size()});
  auto at = [count](const Elements& from, size_t i) {
    return from.items.size() == count ? from.items[i] : from.items[0];
  };
  for (const Elements* operand : {condition, a, b}) {
    if (operand->items.size() != count && operand->items.size() != 1) return std::nullopt;
  }
  Elements out;
  out.scalar = condition->scalar && a->scalar && b->scalar;
  for (size_t i = 0; i < count; ++i) {
    const Element chosen = at(*condition, i), yes = at(*a, i), no = at(*b, i);
    if (chosen.known) {
      out.items.push_back(chosen.value != 0 ? yes : no);
    } else {
      out.items.push_back(yes.same(no) ? yes : Element());
    }
  }
  return out;
}

// ---- Shapes and movement ----

Maybe shape_rule(const Call& call) {
  const ir::Shape* shape = call.shape(0);
  if (shape == nullptr || shape->rank() > kMaxElements) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(shape->rank());
  auto clamp = [rank](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  const int64_t begin = clamp(call.int_or("start", 0)), end = clamp(call.int_or("end", rank));
  Elements out;
  for (int64_t i = begin; i < end; ++i) out.items.push_back(Element::of(shape->dims[static_cast<size_t>(i)]));
  return out;
}

Maybe size_rule(const Call& call) {
  const ir::Shape* shape = call.shape(0);
  if (shape == nullptr) return std::nullopt;
  Element count(1);
  for (const ir::Dim& dim : shape->dims) count = arithmetic::multiply(count, Element::of(dim));
  return Elements{true, {count}};
}

Maybe constant_rule(const Call& call) {
  if (const ir::Attribute* tensor = call.attribute("value")) {
    return tensor->tensors.empty() ? std::nullopt : Elements::from_tensor(*tensor->tensors[0]);
  }
  if (const ir::Attribute* number = call.attribute("value_int")) return Elements{true, {Element(number->i)}};
  if (const ir::Attribute* list = call.attribute("value_ints")) {
    Elements out;
    for (const int64_t number : list->ints) out.items.push_back(Element(number));
    return out;
  }
  return std::nullopt;
}

Maybe constant_of_shape(const Call& call) {
  const auto dims = numbers(call.elements(0));
  const ir::Attribute* value = call.attribute("value");
  if (!dims || dims->size() > 1 || value == nullptr || value->tensors.empty()) return std::nullopt;
  const Maybe filled = Elements::from_tensor(*value->tensors[0]);
  const int64_t count = dims->empty() ? 1 : (*dims)[0];
  if (!filled || filled->items.size() != 1 || count < 0 || count > static_cast<int64_t>(kMaxElements)) {
    return std::nullopt;
  }
  return Elements{dims->empty(), std::vector<Element>(static_cast<size_t>(count), filled->items[0])};
}

Maybe same(const Call& call) {
  const Elements* input = call.elements(0);
  return input == nullptr ? std::nullopt : Maybe(*input);
}

/// Between integer types only; otherwise nothing is known.
Maybe cast(const Call& call) {
  const auto to = call.output_type.element;
  if (to == ir::ElementType::kInt64 || to == ir::ElementType::kInt32) return same(call);
  const Elements* input = call.elements(0);
  if (to != ir::ElementType::kBool || input == nullptr) return std::nullopt;
  Elements out = *input;
  for (Element& element : out.items)
    element = element.known ? Element(element.value != 0 ? 1 : 0) : Element();
  return out;
}

Maybe gather(const Call& call) {
  const Elements *data = call.elements(0), *indices = call.elements(1);
  if (data == nullptr || indices == nullptr || data->scalar) return std::nullopt;
  const int64_t axis = call.int_or("axis", 0), count = static_cast<int64_t>(data->items.size());
  if (axis != 0 && axis != -1) return std::nullopt;
  Elements out;
  out.scalar = indices->scalar;
  for (const Element& index : indices->items) {
    if (!index.known || index.value < -count || index.value >= count) return std::nullopt;
    out.items.push_back(
        data->items[static_cast<size_t>(index.value < 0 ? index.value + count : index.value)]);
  }
  return out;
}

Maybe slice(const Call& call) {
  const Elements* data = call.elements(0);
  const auto starts = list(call, "starts", 1), ends = list(call, "ends", 2);
  if (data == nullptr || data->scalar || !starts || !ends || starts->size() != 1 || ends->size() != 1) {
    return std::nullopt;
  }
  int64_t step = 1;
  if (call.given(4)) {
    const auto steps = numbers(call.elements(4));
    if (!steps || steps->size() != 1 || (*steps)[0] == 0) return std::nullopt;
    step = (*steps)[0];
  }
  const int64_t count = static_cast<int64_t>(data->items.size());
  auto clamp = [count](int64_t index, int64_t low, int64_t high) {
    return std::clamp(index < 0 ? index + count : index, low, high);
  };
  Elements out;
  if (step > 0) {
    const int64_t end = clamp((*ends)[0], 0, count);
    for (int64_t i = clamp((*starts)[0], 0, count); i < end; i += std::min(step, count)) {
      out.items.push_back(data->items[static_cast<size_t>(i)]);
    }
  } else {
    const int64_t end = (*ends)[0] < -count ? -1 : clamp((*ends)[0], -1, count - 1);
    for (int64_t i = clamp((*starts)[0], -1, count - 1); i > end; i += std::max(step, -count)) {
      out.items.push_back(data->items[static_cast<size_t>(i)]);
    }
  }
  return out;
}

Maybe concat(const Call& call) {
  Elements out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Elements* part = call.elements(i);
    const ir::Shape* shape = call.shape(i);
    if (part != nullptr && !part->scalar) {
      out.items.insert(out.items.end(), part->items.begin(), part->items.end());
    } else if (part == nullptr && shape != nullptr && shape->rank() == 1 && shape->dims[0].known() &&
               shape->dims[0].value <= static_cast<int64_t>(kMaxElements)) {
      out.items.resize(out.items.size() + static_cast<size_t>(shape->dims[0].value));  // unknown elements
    } else {
      return std::nullopt;
    }
    if (out.items.size() > kMaxElements) return std::nullopt;
  }
  return out;
}

Maybe squeeze(const Call& call) {
  const Elements* data = call.elements(0);
  if (data == nullptr || data->scalar || data->items.size() != 1) return std::nullopt;
  return Elements{true, data->items};
}

Maybe unsqueeze(const Call& call) {
  const Elements* data = call.elements(0);
  const auto axes = list(call, "axes", 1);
  if (data == nullptr || !data->scalar || !axes || axes->size() != 1) return std::nullopt;
  return Elements{false, data->items};
}

Maybe reshape(const Call& call) {
  const Elements* data = call.elements(0);
  const auto dims = list(call, "shape", 1);
  if (data == nullptr || !dims || dims->size() > 1) return std::nullopt;
  if (dims->empty()) return data->items.size() == 1 ? Maybe(Elements{true, data->items}) : std::nullopt;
  const int64_t count = static_cast<int64_t>(data->items.size());
  if ((*dims)[0] != -1 && (*dims)[0] != count) return std::nullopt;
  return Elements{false, data->items};
}

Maybe expand(const Call& call) {
  const Elements* data = call.elements(0);
  const auto dims = numbers(call.elements(1));
  if (data == nullptr || !dims || dims->size() > 1) return std::nullopt;
  if (dims->empty() || (*dims)[0] == 1) return *data;
  const int64_t count = (*dims)[0];
  if (data->items.size() != 1 || count < 0 || count > static_cast<int64_t>(kMaxElements)) {
    return static_cast<int64_t>(data->items.size()) == count ? Maybe(*data) : std::nullopt;
  }
  return Elements{false, std::vector<Element>(static_cast<size_t>(count), data->items[0])};
}

Maybe range(const Call& call) {
  const auto start = numbers(call.elements(0)), limit = numbers(call.elements(1)),
             delta = numbers(call.elements(2));
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    return std::nullopt;
  const int64_t step = (*delta)[0];
  if (step == 0) return std::nullopt;
  Elements out;
  for (int64_t i = (*start)[0]; step > 0 ? i < (*limit)[0] : i > (*limit)[0];) {
    if (out.items.size() == kMaxElements) return std::nullopt;
    out.items.push_back(Element(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return out;
}

template <Element (*function)(const Element&, const Element&)>
Maybe reduce(const Call& call) {
  const Elements* data = call.elements(0);
  if (data == nullptr || data->scalar || data->items.empty()) return std::nullopt;
  if (call.given(1) || call.attribute("axes") != nullptr) {
    const auto axes = list(call, "axes", 1);
    if (!axes || axes->size() != 1) return std::nullopt;
  } else if (call.int_or("noop_with_empty_axes", 0) != 0) {
    return *data;
  }
  const Element total = std::accumulate(data->items.begin() + 1, data->items.end(), data->items[0], function);
  return Elements{call.int_or("keepdims", 1) == 0, {total}};
}

using Rule = Maybe (*)(const Call&);

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> table = {
      {"Shape", shape_rule},
      {"Size", size_rule},
      {"Constant", constant_rule},
      {"ConstantOfShape", constant_of_shape},
      {"Identity", same},
      {"Cast", cast},
      {"Gather", gather},
      {"Slice", slice},
      {"Concat", concat},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Reshape", reshape},
      {"Expand", expand},
      {"Range", range},
      {"Add", binary<arithmetic::add>},
      {"Sub", binary<arithmetic::subtract>},
      {"Mul", binary<arithmetic::multiply>},
      {"Div", binary<arithmetic::divide>},
      {"Mod", modulo_rule},
      {"Neg", negate},
      {"Equal", binary<arithmetic::equal>},
      {"Where", where},
      {"Min", variadic<arithmetic::minimum>},
      {"Max", variadic<arithmetic::maximum>},
      {"ReduceProd", reduce<arithmetic::multiply>},
      {"ReduceSum", reduce<arithmetic::add>},
      {"ReduceMax", reduce<arithmetic::maximum>},
      {"ReduceMin", reduce<arithmetic::minimum>},
  };
  return table;
}

}  // namespace

const ir::Attribute* effective_attribute(const ir::Node& node, std::string_view name,
                                         const AttributeValues* values) {
  const ir::Attribute* attribute = node.find(name);
  if (attribute == nullptr || attribute->reference.empty()) return attribute;
  if (values == nullptr) return nullptr;
  const auto found = values->find(attribute->reference);
  return found == values->end() ? nullptr : found->second;
}

bool propagates_elements(const ir::Node& node) {
  return node.domain.empty() && rules().find(node.op_type) != rules().end();
}

std::optional<Elements> propagate_elements(const ir::Node& node, const std::vector<ShapeInput>& inputs,
                                           const ir::Type& output_type, const AttributeValues* attributes) {
  if (!node.domain.empty() || !output_type.is_tensor() || !holds_integers(output_type.element))
    return std::nullopt;
  if (output_type.shape.has_rank && output_type.shape.rank() > 1) return std::nullopt;
  const auto rule = rules().find(node.op_type);
  if (rule == rules().end()) return std::nullopt;
  std::optional<Elements> out = rule->second(Call{node, inputs, output_type, attributes});
  if (out && out->items.size() > kMaxElements) return std::nullopt;
  return out;
}

}  // namespace tenon::ops
