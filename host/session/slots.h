// Inputs and outputs bound to memory once: the fastest way to run a session repeatedly.
//
// An input may be bound to a value, in host memory or on a device, of which the slots keep a count. An output may be kept
// where it is made; it is then a value, new for each Run unless only the slots have a count of it.
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
  Status bind_value(uint32_t index, runtime::ValueRef value);
  /// `tensor`: a dense numeric tensor in host memory. The next Run fails when it does not have the type and shape that
  /// the Run produces.
  Status bind_output(uint32_t index, const tenon_tensor& tensor);
  /// The output stays where it is made (false: in host memory). Ends what was bound for it.
  Status keep_output(uint32_t index, bool keep);
  /// Allocates and looks up nothing when the input shapes are those of the last Run and determine all other shapes.
  Status run(const RunOptions& options);
  /// After a Run. Memory of an output that was not bound belongs to the slots until the next Run.
  Result<tenon_tensor> output(uint32_t index) const;
  /// After a Run. FAILED_PRECONDITION for an output that was bound. Later Runs do not change the value.
  Result<runtime::ValueRef> output_value(uint32_t index);

 private:
  struct Bound {
    tenon_tensor tensor{};
    std::vector<int64_t> dims;
    runtime::ValueRef value;  // of an input; may be empty
    bool is_set = false;
  };

  Result<uint32_t> input_index(uint32_t shown) const;
  Result<uint32_t> output_index(uint32_t shown) const;
  std::vector<runtime::Argument> arguments() const;
  std::vector<uint32_t> kept() const;
  bool is_late(uint32_t output) const;
  Status check_values() const;
  Status let_go_of_taken();
  Status bind_staying();
  Status take_state(const RunOptions& options, StateUse* use);
  Status replan(const StateUse& use);
  Status run_fully(const RunOptions& options);
  Status run_until_done(Status status, const RunOptions& options, StateUse* use);
  Status run_once(StateUse* use);
  Status run_simple(const RunOptions& options);
  Status end_simple(Status status, const RunOptions& options);
  Status run_frame(StateUse* use);
  void set_aside();
  Status bind_outputs();
  Status give_frame_outputs();
  void drop_frame();
  Status collect(uint32_t index);
  void set(Bound* bound, const tenon_tensor& tensor, runtime::ValueRef value = {});

  std::shared_ptr<Session> session_;
  std::vector<Bound> inputs_, outputs_;
  std::vector<runtime::ValueRef> own_outputs_;  // memory of outputs that are not bound
  std::vector<uint32_t> late_outputs_;          // outputs that are copied or taken after the Run
  std::shared_ptr<const Assembly> assembly_;    // the frame's
  std::unique_ptr<runtime::Frame> frame_;       // null: plan before the next Run
  runtime::RunState state_;
  std::vector<bool> is_kept_;  // per output
  // The next Run only runs the frame: nothing is on a device or in a state, and no output is made anew.
  bool is_simple_ = false;
  bool has_run_ = false;
  bool is_taken_ = false;  // the application may have counts of own_outputs_
};

}  // namespace tenon::session
