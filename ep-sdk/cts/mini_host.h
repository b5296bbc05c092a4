// A host for one node: it runs a single operator through a provider's library, without core and libtenon. Memory is
// guarded. Parallel loops run in several pieces, the last one first, so that a kernel that relies on their order
// fails.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ep-sdk/cts/execution.h"

namespace tenon::cts {

class MiniHost {
 public:
  /// Loads the library that the manifest names and opens its first device. Throws std::runtime_error. For the
  /// instance: `options` are "name=text", all strings; `memory_limit` is in bytes, 0 for none.
  explicit MiniHost(const std::string& manifest, const std::vector<std::string>& options = {},
                    uint64_t memory_limit = 0);
  ~MiniHost();
  MiniHost(const MiniHost&) = delete;
  MiniHost& operator=(const MiniHost&) = delete;

  const std::string& provider() const { return id_; }
  const std::string& manifest() const { return manifest_; }
  const Subject& subject() const { return *subject_; }
  /// The handle of dlopen.
  void* library() const { return library_; }
  const std::string& module_path() const { return module_path_; }
  /// The manifest's trait: this provider runs every operator.
  bool completes() const { return completes_; }
  /// Whether the provider claims the node.
  bool claims(const NodeCase& node) const;

  /// Calls capability, compile, prepare and run for one node. Returns one value per output of the node. Throws
  /// Rejected, CallFailed, or Failed when the provider breaks a rule.
  std::vector<Tensor> run(const NodeCase& node, Placement placement);
  /// Counts allocations and locks of the provider's library in the third Run of one node (R41). Throws as run().
  Watched watch_run(const NodeCase& node);

 private:
  std::string id_, manifest_, module_path_;
  std::vector<std::string> options_;
  bool completes_ = false;
  void* library_ = nullptr;
  std::unique_ptr<Subject> subject_;
};

/// All manifests in a folder, sorted.
std::vector<std::string> manifests_in(const std::string& folder);

}  // namespace tenon::cts
