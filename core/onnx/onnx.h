// Reading and writing ONNX files. protobuf ends in this folder, core/ops and core/proto.
//
// A model is untrusted input: every limit is checked before the memory is taken, weights are mapped and not
// copied, and an error names the file, the node or the initializer. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"

namespace tenon::onnx {

enum class ExternalData { kDeny, kBeneathModel };

/// Limits for untrusted models; the defaults are those of the config file.
struct Limits {
  int64_t model_bytes = int64_t{8} << 30;  // the file, and all of its external data
  int64_t nodes = 200'000;                 // all graphs together; again after inlining
  int graph_depth = 32;                    // nested graphs and nested types
  int rank = TENON_EP_MAX_RANK;
  int64_t fold_bytes =
      int64_t{64} << 20;  // memory of one value made at load time (dense form of a sparse tensor, ...)
  ExternalData external_data = ExternalData::kBeneathModel;
  bool map_weights = true;  // false: copy, for files that may be truncated while in use
  /// Receives what was taken for granted about a model that leaves it open, one sentence each; null: nobody asks.
  std::vector<std::string>* notices = nullptr;
};

/// Reads a model file (the binary form; a text form is recognised and refused). Checks limits, structure
/// (SSA, names, attributes), resolves operators and functions, and infers types and shapes. Errors: NOT_FOUND
/// for the file, INVALID_MODEL, LIMIT_EXCEEDED, UNSUPPORTED.
Result<ir::Model> load(const std::string& path, const Limits& limits = {});

/// Whether the tensors of a model in memory lie in a copy, or in the caller's bytes, which outlive them.
enum class Bytes { kCopy, kBorrow };

/// The same from memory. External data is looked up beneath `directory`; denied when it is empty.
Result<ir::Model> load_bytes(const void* data, size_t size, const std::string& directory = {},
                             const Limits& limits = {}, Bytes bytes = Bytes::kCopy);

/// Writes the model as ONNX (weights inside). The file is written beside and renamed. Fails over 2 GiB,
/// naming the cure.
Status save(const ir::Model& model, const std::string& path);
Result<std::string> save_bytes(const ir::Model& model);

/// A value read from a .pb file of the ONNX test-case layout. Sequences and optionals nest.
struct TestValue {
  std::string name;
  ir::Type type;                    // shapes as stored
  ir::TensorPtr tensor;             // kTensor
  std::vector<TestValue> elements;  // kSequence; 0 or 1 of kOptional; kMap: keys, values
};

/// Reads TensorProto, SequenceProto, OptionalProto or MapProto bytes, as `type` says (the model's declared
/// type; kUnknown means tensor). Where bfloat16 is declared, a tensor of uint16 is taken for the same bits.
Result<TestValue> read_value(const std::string& path, const ir::Type& type);
Result<std::string> write_value(const TestValue& value);

}  // namespace tenon::onnx
