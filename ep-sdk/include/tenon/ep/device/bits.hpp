// The bits of an element, for kernels that store it without computing.
#ifndef TENON_EP_DEVICE_BITS_HPP_
#define TENON_EP_DEVICE_BITS_HPP_

#include <cstdint>
#include <cstring>

namespace tenon::ep {

/// The first 32 bits of an element, and those after them.
struct ElementBits {
  uint32_t low, high;
};

/// T: an element type of at most 8 bytes.
template <class T>
ElementBits bits_of(const T& element) {
  static_assert(sizeof(T) <= sizeof(ElementBits));
  uint32_t words[2] = {};
  std::memcpy(words, &element, sizeof element);
  return {words[0], words[1]};
}

}  // namespace tenon::ep
#endif  // TENON_EP_DEVICE_BITS_HPP_
