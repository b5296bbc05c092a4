#include "host/session/recovery.h"

#include <utility>

#include "core/base/stop.h"
#include "host/base/log.h"
#include "host/config/words.h"
#include "host/exec/run_control.h"
#include "host/services/trace.h"

namespace tenon::session {
namespace {

/// True when an instance failed for a reason other than the caller's input or a stop.
bool is_instances_own(const Status& failure, When when) {
  if (failure.instance().empty()) return false;
  switch (failure.kind()) {
    case ErrorKind::kDeviceLost:
    case ErrorKind::kInternal:
    case ErrorKind::kUnsupported:
      return true;
    case ErrorKind::kOutOfMemory:
      return when == When::kLoading;  // another Run, with smaller shapes or alone, may have enough memory
    default:
      return false;
  }
}

/// The error of the Run, with the reason why the Run was not repeated.
Status with_reason(const Status& failure, std::string_view reason) {
  Status out(failure.code(), str_cat(failure.message(), "; ", reason), failure.kind());
  if (failure.process_lost()) out = std::move(out).with_process_lost();
  return std::move(out).with_context(failure.where()).with_instance(failure.instance());
}

}  // namespace

struct Recovery::Loss {
  std::string instance, provider;
  bool is_lost, whole_process;
  config::OnLost policy;

  Loss(const Status& failure, const config::Config& config)
      : instance(failure.instance()),
        provider(config::provider_of(failure.instance())),
        is_lost(failure.kind() == ErrorKind::kDeviceLost),
        whole_process(failure.process_lost()),
        policy(config.provider(provider).on_lost) {}

  bool concerns(const runtime::Instance& other) const {
    return whole_process ? other.provider_id() == provider : other.id() == instance;
  }
  std::string policy_text() const {
    return str_cat("provider.", provider, ".on_lost = \"", config::word_of(policy), "\"");
  }
};

Status Recovery::start(runtime::Selection selection, const Assembler::Progress& progress) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Assembly> made, assembler_.make(std::move(selection), {}, progress));
  replace(std::move(made));
  return ok_status();
}

void Recovery::replace(std::shared_ptr<const Assembly> made) {
  const std::lock_guard lock(current_mutex_);
  current_.swap(made);
  address_.store(current_.get(), std::memory_order_release);
}

std::shared_ptr<const Assembly> Recovery::current() const {
  const std::lock_guard lock(current_mutex_);
  return current_;
}

Result<runtime::Selection> Recovery::restarted(const runtime::Selection& old, const Loss& loss) const {
  runtime::Selection out = old;
  for (std::shared_ptr<runtime::Instance>& instance : out.instances) {
    if (!loss.concerns(*instance)) continue;
    ASSIGN_OR_RETURN(instance, instance->renew());
  }
  return out;
}

Result<runtime::Selection> Recovery::without(const runtime::Selection& old, const Loss& loss) const {
  runtime::Selection out;
  out.passed_over = old.passed_over;
  out.unopened = old.unopened;
  for (size_t i = 0; i < old.instances.size(); ++i) {
    if (loss.concerns(*old.instances[i])) continue;
    out.instances.push_back(old.instances[i]);
    out.entries.push_back(old.entries[i]);
  }
  if (out.instances.empty() && out.unopened.empty())
    return not_found("the session has no other provider; add one to select.order");
  return out;
}

Status Recovery::recover(const std::shared_ptr<const Assembly>& failed, Status failure, Attempts* attempts,
                         runtime::Trace* trace, When when) {
  if (!is_instances_own(failure, when)) return failure;
  const Loss loss(failure, assembler_.config());
  if (loss.policy == config::OnLost::kFail) return failure;
  const bool restart = loss.policy == config::OnLost::kRestart;
  if (restart && loss.whole_process) {
    return with_reason(failure,
                       str_cat(loss.policy_text(),
                               " cannot help, because the whole process has lost the provider: start "
                               "the process again, or set the key to \"next\""));
  }
  const int64_t begin = runtime::now_ns();
  const std::lock_guard lock(rebuild_mutex_);
  if (current() != failed) return ok_status();  // another Run has already replaced the assembly
  if (restart && !attempts->restarted.insert(loss.instance).second) {
    return with_reason(failure, str_cat("it failed again after ", loss.policy_text()));
  }

  std::vector<Fallback> fallbacks = failed->fallbacks;
  fallbacks.push_back(
      {loss.is_lost ? "device_lost" : "run_failed", loss.instance, loss.policy_text(), failure.to_string()});
  Result<runtime::Selection> selection =
      restart ? restarted(failed->selection, loss) : without(failed->selection, loss);
  if (!selection.ok()) return with_reason(failure, selection.error().message());
  Result<std::shared_ptr<const Assembly>> made =
      assembler_.make(std::move(*selection), std::move(fallbacks), {});
  if (!made.ok() && is_stopped(made.error())) return std::move(made).error();
  if (!made.ok()) {
    return with_reason(failure,
                       str_cat(restart ? "after its restart: " : "without it: ", made.error().to_string()));
  }
  replace(*made);
  const Fallback& taken = (*made)->fallbacks.back();
  log_line(TENON_LOG_WARNING, "FALLBACK",
           str_cat(taken.provider, " failed (", taken.text, "); ", taken.policy,
                   restart ? ": it was restarted" : ": the session goes on without it",
                   " and the Run is repeated"));
  if (trace != nullptr) {
    trace->add({str_cat(taken.point, ": ", taken.policy), "fallback", taken.provider, begin,
                runtime::now_ns() - begin, 0, 0});
  }
  return ok_status();
}

}  // namespace tenon::session
