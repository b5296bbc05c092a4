#include "host/session/submitted.h"

namespace tenon::session {

SubmittedRun::SubmittedRun(NamedRun named, Slots* slots)
    : named_(std::move(named)), slots_(slots), is_of_slots_(slots != nullptr) {}

Result<std::shared_ptr<SubmittedRun>> SubmittedRun::make(std::shared_ptr<Session> session, NamedRun named,
                                                         Slots* slots) {
  std::shared_ptr<SubmittedRun> made(new SubmittedRun(std::move(named), slots));
  RETURN_IF_ERROR(session->begin_submitted());
  made->session_ = std::move(session);
  return made;
}

Status SubmittedRun::run(const uint32_t* cancel, int64_t deadline_ns) {
  RunOptions options;
  options.cancel = cancel;
  options.deadline_ns = deadline_ns;
  options.state = kept_;
  options.keep_outputs = keep_outputs_;
  if (slots_ != nullptr) return slots_->run(options);
  std::vector<NamedValue> inputs;
  for (const auto& [name, value] : named_.inputs) inputs.push_back({name, value});
  const std::vector<std::string_view> names(named_.output_names.begin(), named_.output_names.end());
  return session_->run(options, inputs, names, named_.outputs);
}

void SubmittedRun::let_go() {
  if (session_ == nullptr) return;
  named_.inputs.clear();
  kept_.reset();
  slots_ = nullptr;
  session_->end_submitted();
  session_.reset();
}

}  // namespace tenon::session
