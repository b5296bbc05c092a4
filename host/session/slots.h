// Inputs and outputs bound to memory once: the fastest way to run a session repeatedly.
//
// Bound memory must stay valid until the next bind or the end of the slots. After a Run that was stopped by its deadline
// or cancelled, a device that hangs may still use it until the session ends. Not thread-safe.
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

  /// Indexes are those of the inputs and outputs that the session shows.
  Status bind_input(uint32_t index, const tenon_tensor& tensor);
  /// `tensor`: a dense numeric tensor in host memory, with the type and shape that the Run produces.
  Status bind_output(uint32_t index, const tenon_tensor& tensor);
  /// Allocates and looks up nothing when the input shapes are those of the last Run and determine all other shapes.
  Status run(const RunOptions& options);
  /// After a Run. Memory of an output that was not bound belongs to the slots until the next Run.
  Result<tenon_tensor> output(uint32_t index) const;

 private:
  struct Bound {
    tenon_tensor tensor{};
    std::vector<int64_t> dims;
    bool is_set = false;
  };

  std::vector<runtime::Argument> arguments() const;
  Status take_state(const RunOptions& options, StateUse* use);
  Status replan(const StateUse& use);
  Status run_until_done(const RunOptions& options, StateUse* use);
  Status run_once(StateUse* use);
  Status run_frame(StateUse* use);
  void set_aside();
  Status bind_outputs();
  Status collect(uint32_t index);
  void set(Bound* bound, const tenon_tensor& tensor);

  std::shared_ptr<Session> session_;
  std::vector<Bound> inputs_, outputs_;
  std::vector<runtime::ValueRef> own_outputs_;  // memory of outputs that are not bound
  std::vector<uint32_t> late_outputs_;          // outputs that are copied or taken after the Run
  std::shared_ptr<const Assembly> assembly_;    // the frame's
  std::unique_ptr<runtime::Frame> frame_;       // null: plan before the next Run
  runtime::RunState state_;
  bool has_run_ = false;
};

}  // namespace tenon::session
