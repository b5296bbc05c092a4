// Reads and writes ONNX files. Protobuf is used only in this folder, core/ops and core/proto.
//
// A model is untrusted input. Every limit is checked before memory is taken, weights are mapped instead of copied,
// and an error names the file, the node or the initializer. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::ops {
class RegisteredOperators;
}

namespace tenon::onnx {

enum class ExternalData { kDeny, kBeneathModel };

/// What the caller gives in place of parts of the model.
struct Given {
  const ops::RegisteredOperators* operators = nullptr;  // of the application; may be null
  /// Of the model's graph, not of nested ones. Type and dims must be those of the model.
  std::map<std::string, ir::TensorPtr, std::less<>> initializers;
  /// Sizes of symbolic dims of inputs and values, by name.
  std::map<std::string, int64_t, std::less<>> dims;
  struct File {
    const std::byte* data = nullptr;  // outlives the model
    size_t size = 0;
  };
  /// Files of external data, by the location that the model names.
  std::map<std::string, File, std::less<>> files;
};

/// Limits for untrusted models, the defaults being those of the config file, and what else reading needs.
struct Limits {
  int64_t model_bytes = int64_t{8} << 30;  // the file, and all of its external data
  int64_t nodes = 200'000;                 // all graphs together; checked again after inlining
  int graph_depth = 32;                    // nested graphs and nested types
  int rank = TENON_EP_MAX_RANK;
  int64_t fold_bytes =
      int64_t{64} << 20;  // size of one value made at load time (dense form of a sparse tensor, ...)
  ExternalData external_data = ExternalData::kBeneathModel;
  bool map_weights = true;  // false: copy, for files that may be truncated while in use
  /// May be null. NOT_FOUND for an initializer that the model lacks.
  const Given* given = nullptr;
  /// Receives one sentence for each assumption about an incomplete model, and for what was given in vain; may be null.
  std::vector<std::string>* notices = nullptr;
};

/// Reads a model file in the binary form; text forms are recognised and refused. Checks limits and structure (SSA,
/// names, attributes), resolves operators and functions, infers types and shapes. Errors: NOT_FOUND for the file,
/// INVALID_MODEL, LIMIT_EXCEEDED, UNSUPPORTED.
Result<ir::Model> load(const std::string& path, const Limits& limits = {});

/// Whether tensors are copied, or refer to the caller's bytes, which must then outlive them.
enum class Bytes { kCopy, kBorrow };

/// Like load, from memory. External data is looked up beneath `directory`; it is refused when `directory` is empty.
Result<ir::Model> load_bytes(const void* data, size_t size, const std::string& directory = {},
                             const Limits& limits = {}, Bytes bytes = Bytes::kCopy);

/// Writes the model as ONNX, with the weights inside, to a new file that is then renamed. Fails over 2 GiB; the
/// message names the cure.
Status save(const ir::Model& model, const std::string& path);
Result<std::string> save_bytes(const ir::Model& model);

/// A value from a .pb file of an ONNX test case. Sequences and optionals nest.
struct TestValue {
  std::string name;
  ir::Type type;                    // shapes as stored
  ir::TensorPtr tensor;             // kTensor
  std::vector<TestValue> elements;  // of kSequence; 0 or 1 of kOptional; of kMap: keys, values
};

/// Reads TensorProto, SequenceProto, OptionalProto or MapProto, as `type` says (the type that the model declares;
/// kUnknown means tensor). When `type` is bfloat16, a uint16 tensor is read as the same bits.
Result<TestValue> read_value(const std::string& path, const ir::Type& type);
Result<std::string> write_value(const TestValue& value);

}  // namespace tenon::onnx
