// A node of an application's operator, compiled: it calls the application in each Run. Sees the node through ep.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "host/device/type_info.h"
#include "host/operators/app_operator.h"
#include "host/operators/call.h"
#include "tenon/ep.h"

namespace tenon::operators {

using AppOperatorPtr = std::shared_ptr<const AppOperator>;

class Program {
 public:
  /// `graph` has the one node.
  static Result<std::unique_ptr<Program>> make(AppOperatorPtr op, const tenon_host_api& host,
                                               const tenon_graph* graph);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Thread-safe.
  Status run(const tenon_run_args& args) const;

 private:
  /// Where an input of the node is: input `index` of the Run, a constant, or nowhere.
  struct Source {
    uint32_t index = TENON_NO_INDEX;
    std::optional<tenon_tensor> constant;
  };
  class Running;

  Program(AppOperatorPtr op, const tenon_host_api& host) : op_(std::move(op)), host_(host) {}
  Status read(const tenon_graph* graph);
  Status create();
  tenon_operator_call make_call() const;

  AppOperatorPtr op_;
  const tenon_host_api& host_;
  std::unique_ptr<const NodeFacts> node_;
  std::vector<Source> sources_;    // per input of the node
  std::vector<uint32_t> targets_;  // per output of the node: output of the Run, or TENON_NO_INDEX
  std::vector<runtime::TypeInfo> inputs_, outputs_;  // types of the node's inputs and outputs
  void* state_ = nullptr;
  bool is_created_ = false;
};

}  // namespace tenon::operators
