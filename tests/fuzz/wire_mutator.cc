#include "tests/fuzz/wire_mutator.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/onnx/wire.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace tenon::fuzz {
namespace {

using onnx::WireField;
using onnx::WireReader;
using onnx::WireType;

constexpr int kMaxDepth = 24;

struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;
  std::string bytes;            // of a fixed or length field without children
  std::vector<Field> children;  // of a length field that reads as a message
};

/// What reads as a message is taken for one; strings that do so by chance only make for stranger mutations.
bool parse(const std::byte* data, size_t size, int depth, std::vector<Field>& out) {
  WireReader reader(data, size);
  WireField wire;
  while (reader.next(&wire)) {
    Field& field = out.emplace_back();
    field.number = wire.number;
    field.type = wire.type;
    field.varint = wire.varint;
    if (wire.type == WireType::kVarint) continue;
    bool is_message = wire.type == WireType::kLength && wire.size > 1 && depth < kMaxDepth &&
                      parse(wire.payload, wire.size, depth + 1, field.children);
    if (is_message) continue;
    field.children.clear();
    field.bytes.assign(reinterpret_cast<const char*>(wire.payload), wire.size);
  }
  return !reader.failed();
}

void put_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void write(const std::vector<Field>& fields, std::string& out) {
  for (const Field& field : fields) {
    put_varint(uint64_t{field.number} << 3 | static_cast<uint64_t>(field.type), out);
    if (field.type == WireType::kVarint) {
      put_varint(field.varint, out);
    } else if (field.type == WireType::kLength) {
      std::string content = field.bytes;
      if (!field.children.empty()) write(field.children, content);
      put_varint(content.size(), out);
      out += content;
    } else {
      out += field.bytes;
    }
  }
}

class Mutator {
 public:
  Mutator(std::vector<Field>& root, unsigned seed) : random_(seed) { collect(root); }

  /// One random change at a random place.
  void run() {
    if (lists_.empty()) return;
    std::vector<Field>& list = *lists_[pick(lists_.size())];
    size_t at = pick(list.size());
    switch (pick(8)) {
      case 0:
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1:
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(pick(list.size() + 1)), Field(list[at]));
        return;
      case 2:
        std::swap(list[at], list[pick(list.size())]);
        return;
      case 3:
        copy_from_elsewhere(list[at]);
        return;
      case 4:
        list[at].number = static_cast<uint32_t>(1 + pick(26));
        return;
      default:
        change(list[at]);
    }
  }

 private:
  void collect(std::vector<Field>& list) {
    if (list.empty()) return;
    lists_.push_back(&list);
    for (Field& field : list) collect(field.children);
  }

  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  const Field& anywhere() {
    const std::vector<Field>& list = *lists_[pick(lists_.size())];
    return list[pick(list.size())];
  }

  /// Of the same number, where chance finds one: then a name becomes another name and a type another type.
  void copy_from_elsewhere(Field& field) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Field& other = anywhere();
      if (other.type != field.type || &other == &field) continue;
      if (attempt < 15 && other.number != field.number) continue;
      uint32_t number = field.number;
      Field copy = other;
      field = std::move(copy);
      field.number = number;
      return;
    }
  }

  void change(Field& field) {
    static constexpr uint64_t kInteresting[] = {0,           1,
                                                2,           3,
                                                7,           8,
                                                16,          127,
                                                255,         65536,
                                                1u << 31,    1ull << 32,
                                                1ull << 62,  (1ull << 63) - 1,
                                                1ull << 63,  ~uint64_t{0},
                                                ~uint64_t{1}};
    if (field.type == WireType::kVarint) {
      field.varint = pick(2) == 0 ? kInteresting[pick(std::size(kInteresting))] : field.varint + pick(5) - 2;
    } else if (!field.children.empty()) {
      field.children.insert(
          field.children.begin() + static_cast<std::ptrdiff_t>(pick(field.children.size() + 1)),
          Field(anywhere()));
    } else {
      size_t size = field.bytes.size(), limit = size + 16;
      field.bytes.resize(limit);
      auto* bytes = reinterpret_cast<uint8_t*>(field.bytes.data());
      bool fixed = field.type != WireType::kLength;
      field.bytes.resize(LLVMFuzzerMutate(bytes, size, fixed ? size : limit));
      if (fixed) field.bytes.resize(size);
    }
  }

  std::mt19937 random_;
  std::vector<std::vector<Field>*> lists_;  // every message that has fields
};

}  // namespace

size_t mutate_message(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::vector<Field> root;
  bool whole = size != 0 && parse(reinterpret_cast<const std::byte*>(data), size, 0, root);
  if (!whole || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned round = 0; round <= seed % 3; ++round) Mutator(root, seed + round).run();
  std::string out;
  write(root, out);
  if (out.size() > max_size || out.empty()) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

}  // namespace tenon::fuzz
