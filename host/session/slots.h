// Inputs and outputs bound to memory once: the shortest way through a Run.
//
// The caller's memory must outlive the slots or the next bind. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "host/exec/frame.h"
#include "host/session/session.h"

namespace tenon::session {

class Slots {
 public:
  explicit Slots(std::shared_ptr<Session> session);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  Status bind_input(uint32_t index, const tenon_tensor& tensor);
  /// A numeric tensor in host memory. It must fit what the Run makes.
  Status bind_output(uint32_t index, const tenon_tensor& tensor);
  /// Nothing is allocated or looked up when shapes are those of the last Run and all follow from them.
  Status run(const RunOptions& options);
  /// Of the last Run. Memory of an output that was not bound belongs to the slots until the next Run.
  Result<tenon_tensor> output(uint32_t index) const;

 private:
  struct Bound {
    tenon_tensor tensor{};
    std::vector<int64_t> dims;
    bool is_set = false;
  };

  Status replan();
  Status run_until_done(const RunOptions& options);
  Status run_once();
  Status bind_outputs();
  Status collect(uint32_t index);
  void set(Bound* bound, const tenon_tensor& tensor);

  std::shared_ptr<Session> session_;
  std::vector<Bound> inputs_, outputs_;
  std::vector<runtime::ValueRef> own_outputs_;  // memory of outputs that are not bound
  std::vector<uint32_t> late_outputs_;          // not written straight into their memory
  std::shared_ptr<const Assembly> assembly_;    // of the frame
  std::unique_ptr<runtime::Frame> frame_;       // null: plan before the next Run
  runtime::RunContext context_;
  bool has_run_ = false;
};

}  // namespace tenon::session
