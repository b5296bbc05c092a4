#include "host/device/hasher.h"

#include "tenon/ep.h"

namespace tenon::runtime {

void Hasher::type(const ir::Type& type) {
  number(static_cast<uint32_t>(type.kind));
  number(static_cast<uint32_t>(type.element));
  number(type.shape.has_rank ? 1 : 0);
  number(type.shape.dims.size());
  for (const ir::Dim& dim : type.shape.dims)
    number(static_cast<uint64_t>(dim.known() ? dim.value : TENON_DIM_UNKNOWN));
  number(type.inner != nullptr ? 1 : 0);
  if (type.inner != nullptr) this->type(*type.inner);
}

void Hasher::plain_values(const ir::Attribute& attribute) {
  text(attribute.name);
  number(static_cast<uint32_t>(attribute.type));
  text(attribute.reference);
  number(static_cast<uint64_t>(attribute.i));
  bytes(&attribute.f, sizeof(attribute.f));
  text(attribute.s);
  numbers(std::span<const int64_t>(attribute.ints));
  numbers(std::span<const float>(attribute.floats));
  number(attribute.strings.size());
  for (const std::string& s : attribute.strings) text(s);
}

}  // namespace tenon::runtime
