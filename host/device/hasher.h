// Names of what a graph has, by content.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/ir/graph.h"
#include "host/base/sha256.h"

namespace tenon::runtime {

/// A SHA-256. Every part has a fixed size or begins with its size, so that different contents give different byte sequences.
class Hasher {
 public:
  /// `form`: what is named, and the version of how.
  explicit Hasher(std::string_view form) { text(form); }

  void number(uint64_t value) { hash_.add(&value, sizeof(value)); }
  void text(std::string_view bytes) {
    number(bytes.size());
    hash_.add(bytes);
  }
  template <class T>
  void numbers(std::span<const T> values) {
    number(values.size());
    hash_.add(values.data(), values.size_bytes());
  }
  void bytes(const void* data, size_t size) { text({static_cast<const char*>(data), size}); }
  void id(const Sha256::Digest& id) { hash_.add(id.data(), id.size()); }
  /// Symbols of dims have no influence.
  void type(const ir::Type& type);
  /// The attribute's name and kind, and its numbers and strings; not its tensors, types and graphs.
  void plain_values(const ir::Attribute& attribute);
  Sha256::Digest digest() { return hash_.digest(); }

 private:
  Sha256 hash_;
};

}  // namespace tenon::runtime
