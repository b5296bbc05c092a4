// A recipe: the tasks of an island for one shape signature, over buffers.
#pragma once

#include <functional>

#include "islands/operation.h"
#include "tenon/ep/workspace.hpp"

namespace tenon::cpu::islands {

enum class Home : uint8_t { kInput, kOutput, kConstant, kWorkspace };

struct Buffer {
  Home home = Home::kWorkspace;
  int32_t index = 0;                // among the island's inputs or outputs
  const void* constant = nullptr;   // kConstant
  ep::Piece piece = {0, 0, -1, 0};  // kWorkspace; last < first: not used
};

/// How the elements of a tensor lie in memory.
enum class Form : uint8_t {
  kPlain,  // in ONNX's order
  kLast,   // [N, C, spatial...] stored as [N, spatial..., C]
};

enum class Element : uint8_t {
  kFloat,
  kByte,    // uint8; or int8 with the highest bit toggled, as isa::Integer wants its left factors
  kSigned,  // int8 as ONNX has it: only inputs, constants and outputs of an island
};

/// A tensor that exists once the tasks added so far have run. It is rows of `columns` elements: the last axis, or the channels.
struct Tensor {
  uint32_t buffer = kNone;
  int64_t offset = 0;  // elements
  Dims dims;           // as in ONNX
  Form form = Form::kPlain;
  int64_t ld = 0;  // between rows
  Element element = Element::kFloat;
  Scaling scaling;  // of bytes that elementwise tasks read or write as floats

  bool is_float() const { return element == Element::kFloat; }

  int64_t elements() const { return ep::element_count(dims); }
  int64_t columns() const {
    if (form == Form::kLast) return dims[1];
    return dims.empty() ? 1 : dims.back();
  }
  int64_t rows() const { return columns() == 0 ? 0 : elements() / columns(); }
  bool is_dense() const { return ld == columns(); }
};

/// What may be read beyond the last byte of a tensor of bytes in the workspace.
inline constexpr uint64_t kSlack = 64;

/// One Run of a recipe. Thread-safe.
class Run {
 public:
  Run(const ep::Context& ctx, void* const* addresses) : ctx(ctx), addresses_(addresses) {}
  float* at(const Tensor& t) const { return static_cast<float*>(addresses_[t.buffer]) + t.offset; }
  uint8_t* bytes_at(const Tensor& t) const { return static_cast<uint8_t*>(addresses_[t.buffer]) + t.offset; }
  const ep::Context& ctx;

 private:
  void* const* addresses_;
};

struct Task {
  std::function<void(const Run& run)> work;
  std::string name;  // for traces: the node, and those whose work is done with it
};

/// Immutable once built.
struct Recipe {
  std::vector<Buffer> buffers;
  std::vector<Task> tasks;
  std::vector<Dims> output_dims;
  uint64_t workspace_bytes = 0;

  void run(const ep::Context& ctx) const;
};

}  // namespace tenon::cpu::islands
