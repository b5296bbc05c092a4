// A host of one node: enough of the provider border to run a single operator through a provider's library,
// without core and without libtenon. Memory is guarded, and every parallel loop is cut into several pieces, run
// back to front, so that a kernel that relies on their order fails.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ep-sdk/cts/execution.h"

namespace tenon::cts {

class MiniHost {
 public:
  /// Loads the library that the manifest names, on its first device. Throws std::runtime_error.
  /// `options`: of the instance, "name=text", all strings. `memory_limit`: of the instance, 0 for none.
  explicit MiniHost(const std::string& manifest, const std::vector<std::string>& options = {},
                    uint64_t memory_limit = 0);
  ~MiniHost();
  MiniHost(const MiniHost&) = delete;
  MiniHost& operator=(const MiniHost&) = delete;

  const std::string& provider() const { return id_; }
  const std::string& manifest() const { return manifest_; }
  const Subject& subject() const { return *subject_; }
  /// Of dlopen.
  void* library() const { return library_; }
  const std::string& module_path() const { return module_path_; }
  /// What the manifest says: it may stand last, so it takes every operator that it has rows for.
  bool completes() const { return completes_; }
  /// Whether the provider takes the node.
  bool claims(const NodeCase& node) const;

  /// Capability, compile, prepare and Run of one node; outputs at the node's own positions. Throws Rejected,
  /// CallFailed, or Failed when the provider breaks the contract.
  std::vector<Tensor> run(const NodeCase& node, Placement placement);
  /// What the provider's own code takes in the third Run of one node (R41). Throws as run() does.
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
