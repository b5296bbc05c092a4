// The interface to oneDNN: layouts, primitives and calls. Only its implementation (dnnl_*) includes the
// library's headers, so that another major version of the library needs only another implementation. The
// library is loaded at the first call of one of these functions.
//
// This interface knows no ONNX operators, plans no memory and starts no threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/ep.hpp"

namespace tenon::onednn {

using ep::Dims;
using ep::DimsView;

/// The library has no kInt64: tensors of that type have layouts, but no primitive reads them.
enum class Type : uint8_t { kFloat32, kBFloat16, kInt32, kInt64, kInt8, kUInt8 };
uint64_t bytes_of(Type type);

/// How a tensor lies in memory. Immutable and cheap to copy. A scalar has dims {1}.
class Layout {
 public:
  Layout() = default;
  static Layout plain(Type type, DimsView dims);  // dense, row-major
  static Layout strided(Type type, DimsView dims, DimsView strides);
  static Layout any(Type type, DimsView dims);  // the primitive chooses
  /// Images {N, C, H, W} in blocks of 16 channels per pixel, which the library's AVX-512 kernels prefer.
  static Layout blocked(Type type, DimsView dims);

  explicit operator bool() const { return data_ != nullptr; }
  Type type() const;
  const Dims& dims() const;
  int rank() const { return static_cast<int>(dims().size()); }
  int64_t elements() const { return ep::element_count(dims()); }
  uint64_t bytes() const;
  bool is_any() const;
  bool is_plain() const;
  /// The library's private format, as for Winograd weights: it cannot be converted into another layout.
  bool is_opaque() const;
  /// Its bytes hold nothing but the elements and start with the first one.
  bool is_dense() const;
  /// Bytes between its elements belong to another tensor, as in a piece of a larger one.
  bool has_gaps() const;

  /// The same bytes with another shape; nullopt if the order of the elements does not allow it.
  std::optional<Layout> reshaped(DimsView dims) const;
  /// Axis i of the result is axis permutation[i] of this layout.
  Layout permuted(std::span<const int64_t> permutation) const;
  /// The same order with another element type. A part of a larger tensor becomes a plain layout: the library does not convert
  /// into memory with gaps.
  Layout with_type(Type type) const;
  /// A box within it; nullopt if that would cut a block.
  std::optional<Layout> part(DimsView dims, DimsView offsets) const;

  /// Whether both describe the same bytes as the same tensor, in whatever form.
  bool operator==(const Layout& other) const { return key() == other.key(); }
  /// A text that is equal for equal layouts and for no others, in every process.
  const std::string& key() const;

  struct Data;
  explicit Layout(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

enum class Eltwise : uint8_t {
  kRelu,
  kTanh,
  kElu,
  kSquare,
  kAbs,
  kSqrt,
  kSwish,
  kLinear,
  kSoftRelu,
  kMish,
  kLogistic,
  kExp,
  kGeluTanh,
  kGeluErf,
  kLog,
  kClip,
  kPow,
  kRound,
  kHardSwish,
};
enum class Binary : uint8_t { kAdd, kMul, kMax, kMin, kDiv, kSub, kGe, kGt, kLe, kLt, kEq, kNe };
enum class Pool : uint8_t { kMax, kAverage, kAverageWithPadding };
enum class Reduce : uint8_t { kMax, kMin, kSum, kMul, kMean, kNorm1, kNorm2, kSumOfSquares };

/// An argument of a primitive.
enum Role : int {
  kSource,
  kSource1,
  kWeights,
  kBias,
  kDestination,
  kScale,
  kShift,
  kMean,
  kVariance,
  kScratch,
  kFirstPostOp = 100,    // + index: the operand of a binary post-operation
  kFirstSource = 10000,  // + index: a source of a concatenation
};

/// A function applied to each element of a result before it is stored.
struct PostOp {
  enum class Kind : uint8_t { kEltwise, kBinary, kSum } kind;
  Eltwise eltwise = Eltwise::kLinear;
  float alpha = 0, beta = 0;
  Binary binary = Binary::kAdd;
  Layout operand = {};  // for kBinary; kSum adds the old content of the destination
};
using PostOps = std::vector<PostOp>;

struct Window {
  Dims kernel, strides, dilations, pads_begin, pads_end;  // a dilation of 1 means dense
};

/// The CPU engine. Constructing one loads the library.
class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  struct Data;
  const Data& data() const { return *data_; }

 private:
  std::unique_ptr<Data> data_;
};

/// A compiled operation. Immutable, thread-safe, cheap to copy.
class Primitive {
 public:
  Primitive() = default;
  explicit operator bool() const { return data_ != nullptr; }
  /// The layout that the argument must have; empty if the primitive has no argument of that role.
  Layout layout(int role) const;
  uint64_t scratch_bytes() const { return layout(kScratch) ? layout(kScratch).bytes() : 0; }
  const std::string& implementation() const;
  /// Correct but slow: a plain loop over elements.
  bool is_reference() const { return implementation().starts_with("ref"); }

  struct Data;
  explicit Primitive(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

// Makers throw ep::Error with UNIMPLEMENTED when the library has no implementation.

/// Winograd's minimal filtering, for tiles of 2x2 or 4x4 output pixels.
enum class Winograd : uint8_t { kNone, k2x2, k4x4 };

struct ConvolutionSpec {
  bool transposed = false;
  Winograd winograd = Winograd::kNone;
  Layout source, weights, bias, destination;  // bias may be empty
  Window window;                              // window.kernel is the kernel size of the weights
};
Primitive make_convolution(const Engine& engine, const ConvolutionSpec& spec, const PostOps& post_ops);
/// Multiplies matrices in the last two axes; axes before them broadcast. The result is scaled by `scale`.
struct MatMulSpec {
  Layout source, weights, bias, destination;
  float scale = 1;
};
Primitive make_matmul(const Engine& engine, const MatMulSpec& spec, const PostOps& post_ops);
Primitive make_pooling(const Engine& engine, Pool pool, const Layout& source, const Layout& destination,
                       const Window& window);
Primitive make_eltwise(const Engine& engine, Eltwise algorithm, float alpha, float beta,
                       const Layout& layout);
Primitive make_binary(const Engine& engine, Binary algorithm, const Layout& a, const Layout& b,
                      const Layout& destination, const PostOps& post_ops);
Primitive make_softmax(const Engine& engine, const Layout& layout, int axis, bool logarithm);
Primitive make_layer_norm(const Engine& engine, const Layout& layout, float epsilon, bool scale, bool shift);
Primitive make_batch_norm(const Engine& engine, const Layout& layout, float epsilon);
Primitive make_lrn(const Engine& engine, const Layout& layout, int64_t size, float alpha, float beta,
                   float k);
Primitive make_reduction(const Engine& engine, Reduce algorithm, const Layout& source,
                         const Layout& destination);
Primitive make_concat(const Engine& engine, int axis, const std::vector<Layout>& sources,
                      const Layout& destination);
Primitive make_reorder(const Engine& engine, const Layout& source, const Layout& destination);
Primitive make_resampling(const Engine& engine, bool linear, const std::vector<float>& factors,
                          const Layout& source, const Layout& destination);
Primitive make_prelu(const Engine& engine, const Layout& source, const Layout& weights);

/// A primitive with the addresses of its arguments. Not thread-safe.
class Call {
 public:
  /// `roles`: the arguments, in the order of the indices that set() takes.
  Call(const Engine& engine, const Primitive& primitive, const std::vector<int>& roles);
  ~Call();
  Call(Call&&) noexcept;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  void set(size_t argument, void* address);
  void run() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

/// Optional: loads the library now, as every function here does if needed. Throws UNAVAILABLE on failure.
void load_library();
/// Whether the processor has bfloat16 instructions.
bool has_bf16();
/// Whether the library has Winograd convolutions for this processor.
bool has_winograd();

}  // namespace tenon::onednn
