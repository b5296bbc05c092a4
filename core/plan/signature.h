// The shape signature of a Run: the shapes of its inputs, and the values of those inputs that shapes depend on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon::plan {

/// A sequence of numbers, compared as a whole. Each `add` is self-delimiting, so [1,2],[3] differs from [1],[2,3].
class Signature {
 public:
  void clear() { words_.clear(); }
  void reserve(size_t words) { words_.reserve(words); }
  void add_shape(std::span<const int64_t> dims) {
    words_.push_back(static_cast<int64_t>(dims.size()));
    words_.insert(words_.end(), dims.begin(), dims.end());
  }
  void add_word(int64_t word) { words_.push_back(word); }
  /// For an input that is not a tensor or is left out: -1, which is not a rank.
  void add_absent() { words_.push_back(-1); }
  /// For a value that is not an integer.
  void add_bytes(std::span<const std::byte> bytes);

  const std::vector<int64_t>& words() const { return words_; }
  bool operator==(const Signature& other) const { return words_ == other.words_; }
  uint64_t hash() const;

 private:
  std::vector<int64_t> words_;
};

struct SignatureHash {
  size_t operator()(const Signature& signature) const { return static_cast<size_t>(signature.hash()); }
};

}  // namespace tenon::plan
