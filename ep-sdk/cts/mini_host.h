// A host of one node: enough of the provider border to run a single operator through a provider's library,
// without core and without libtenon. It hands out the graph view of one node, gives memory with guard bytes,
// and cuts every parallel loop into several pieces, run back to front, so that a kernel that relies on their
// order fails. A provider with memory of its own gets its inputs and outputs there, and is bound before it runs.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "ep-sdk/cts/tensor.h"
#include "tenon/ep.h"

namespace tenon::cts {

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, Tensor>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

struct NodeCase {
  std::string op_type;
  std::string domain;
  int since_version = 1;
  std::vector<Attribute> attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor>
      outputs;  // kinds, types and shapes that inference would give; their data is not looked at
};

/// Where outputs live when the provider says that they may share memory with an input.
enum class Placement { kApart, kShared };

/// A node that the provider does not take: its reason code is `code`.
struct Rejected : std::runtime_error {
  Rejected(uint32_t rejection, const std::string& text) : std::runtime_error(text), code(rejection) {}
  uint32_t code;
};

/// A call of the provider that failed.
struct CallFailed : std::runtime_error {
  CallFailed(tenon_status failure, const std::string& text) : std::runtime_error(text), status(failure) {}
  tenon_status status;
};

class MiniHost {
 public:
  /// Loads the library that the manifest names, on its first device. Throws std::runtime_error.
  explicit MiniHost(const std::string& manifest);
  ~MiniHost();
  MiniHost(const MiniHost&) = delete;
  MiniHost& operator=(const MiniHost&) = delete;

  const std::string& provider() const { return id_; }
  /// What the manifest says: it may stand last, so it takes every operator that it has rows for.
  bool completes() const { return completes_; }
  /// Whether the provider takes the node.
  bool claims(const NodeCase& node) const;

  /// Capability, compile, prepare and Run of one node. Throws Rejected, CallFailed, or std::runtime_error when
  /// the provider breaks the contract (guard bytes written, inputs changed, wrong shapes, values leaked).
  std::vector<Tensor> run(const NodeCase& node, Placement placement);

 private:
  std::string id_;
  bool completes_ = false;
  void* library_ = nullptr;
  const tenon_ep_api* api_ = nullptr;
  tenon_provider* provider_ = nullptr;
  tenon_device* device_ = nullptr;
  tenon_instance* instance_ = nullptr;
  std::map<uint32_t, uint32_t> alignments_;  // by memory domain
};

/// All manifests in a folder, sorted.
std::vector<std::string> manifests_in(const std::string& folder);

}  // namespace tenon::cts
