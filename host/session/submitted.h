// A Run that was submitted to the process's queue: of a session by name, or of slots. It keeps the session, and with it
// the instances, until it has ended. Thread-safe after submit().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "host/device/value.h"
#include "host/services/run_queue.h"
#include "host/session/session.h"
#include "host/session/slots.h"

namespace tenon::session {

/// What a Run by name works on, with texts and counts of its own.
struct NamedRun {
  std::vector<std::pair<std::string, runtime::ValueRef>> inputs;
  std::vector<std::string> output_names;   // empty: all outputs in the model's order
  std::vector<runtime::ValueRef> outputs;  // one for each output; one that is not empty is written in place
};

class SubmittedRun final : public runtime::QueuedRun {
 public:
  /// Of `slots`, if they are not null; they must live until has_ended(), and nobody may use them until then.
  /// RESOURCE_EXHAUSTED when TENON_PENDING_LIMIT Runs of the session have not ended.
  static Result<std::shared_ptr<SubmittedRun>> make(std::shared_ptr<Session> session, NamedRun named,
                                                    Slots* slots = nullptr);
  ~SubmittedRun() override { let_go(); }

  /// Before submit(): the state of the Run; null: the session's own, if it has state pairs.
  void set_state(std::shared_ptr<session::State> state) { kept_ = std::move(state); }
  /// Before submit(): see RunOptions.
  void set_keep_outputs(bool keep) { keep_outputs_ = keep; }
  bool is_of_slots() const { return is_of_slots_; }
  /// After the Run has ended without an error; none for slots.
  std::span<const runtime::ValueRef> outputs() const { return named_.outputs; }

 private:
  SubmittedRun(NamedRun named, Slots* slots);
  Status run(const uint32_t* cancel, int64_t deadline_ns) override;
  void let_go() override;

  std::shared_ptr<Session> session_;  // counts this Run; null after let_go()
  NamedRun named_;
  std::shared_ptr<session::State> kept_;  // between Runs of one sequence
  Slots* slots_;
  const bool is_of_slots_;
  bool keep_outputs_ = false;
};

}  // namespace tenon::session
