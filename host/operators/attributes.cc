#include "host/operators/attributes.h"

#include <new>
#include <string>
#include <utility>

#include "host/device/value.h"

namespace tenon::operators {
namespace {

tenon_str to_str(std::string_view text) { return {text.data(), text.size()}; }

std::string text_of(tenon_str text) { return std::string(text.data, text.size); }

}  // namespace

Attributes::Attributes(std::vector<ir::Attribute> attributes)
    : attributes_(std::move(attributes)), lists_(attributes_.size()) {
  for (size_t i = 0; i < attributes_.size(); ++i) {
    const ir::Attribute& from = attributes_[i];
    Lists& lists = lists_[i];
    for (const std::string& text : from.strings) lists.strings.push_back(to_str(text));
    for (const ir::TensorPtr& tensor : from.tensors) {
      Result<tenon_tensor> described = runtime::describe_aligned(*tensor, &lists.copies);
      if (!described.ok()) throw std::bad_alloc();
      lists.tensors.push_back(*described);
    }
    tenon_attribute to{};
    to.struct_size = sizeof(to);
    to.type = static_cast<uint32_t>(from.type);
    to.name = to_str(from.name);
    to.i = from.i;
    to.f = static_cast<double>(from.f);
    to.s = to_str(from.s);
    to.count = from.ints.size() + from.floats.size() + from.strings.size() + from.tensors.size();
    to.ints = from.ints.data();
    to.floats = from.floats.data();
    to.strings = lists.strings.data();
    to.tensors = lists.tensors.data();
    described_.push_back(to);
  }
}

const tenon_attribute* Attributes::find(std::string_view name) const {
  for (size_t i = 0; i < attributes_.size(); ++i) {
    if (attributes_[i].name == name) return &described_[i];
  }
  return nullptr;
}

Result<ir::Attribute> copy_attribute(const tenon_attribute& from) {
  ir::Attribute to;
  to.name = text_of(from.name);
  to.type = static_cast<ir::AttributeType>(from.type);
  to.i = from.i;
  to.f = static_cast<float>(from.f);
  to.s = text_of(from.s);
  const size_t count = from.count;
  switch (from.type) {
    case TENON_ATTR_INTS:
      to.ints.assign(from.ints, from.ints + count);
      break;
    case TENON_ATTR_FLOATS:
      to.floats.assign(from.floats, from.floats + count);
      break;
    case TENON_ATTR_STRINGS:
      for (size_t i = 0; i < count; ++i) to.strings.push_back(text_of(from.strings[i]));
      break;
    case TENON_ATTR_TENSOR:
    case TENON_ATTR_TENSORS:
      for (size_t i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(const runtime::ValueRef copied, runtime::copy_tensor(from.tensors[i]));
        ASSIGN_OR_RETURN(ir::TensorPtr tensor, runtime::tensor_of(copied));
        to.tensors.push_back(std::move(tensor));
      }
      break;
    default:
      break;
  }
  return to;
}

}  // namespace tenon::operators
