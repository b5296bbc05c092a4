// Checks with failing calls to the host.
#include "ep-sdk/cts/bench.h"

namespace tenon::cts {
namespace {

/// Runs a claim once per request for host memory that it makes, and lets that request fail.
void fail_each_request(const Subject& subject, const Claimed& claimed, bool* any) {
  const std::vector<Tensor> expected = run_claim(subject, claimed);
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  Execution execution(prepared);
  host_state().requests = 0;
  execution.run();
  const int64_t requests = host_state().requests;
  for (int64_t n = 0; n < requests; ++n) {
    *any = true;
    host_state().requests = 0;
    host_state().failing_request = n;
    const CallResult result = execution.try_run();
    host_state().failing_request = -1;
    const std::string what =
        claimed.probe.name + ": when request " + std::to_string(n) + " for host memory fails, run ";
    if (result.ok()) throw Failed(what + "returns OK", "look at what the host returns");
    if (result.status != TENON_RESOURCE_EXHAUSTED)
      throw Failed(what + "returns status " + std::to_string(result.status), "pass RESOURCE_EXHAUSTED on");
    execution.run();
    require_equal(execution.outputs(), expected, claimed.probe.name + " after a Run without memory",
                  "leave nothing behind when a Run fails");
  }
}

}  // namespace

TENON_CHECK("injection.host_memory",
            "a Run fails cleanly when the host refuses scratch memory, outputs or values") {
  const Bench bench(target);
  bool any = false;
  for (const Claimed& claimed : claimed_probes(target, *bench.subject))
    fail_each_request(*bench.subject, claimed, &any);
  if (live_values() != 0)
    throw Failed(std::to_string(live_values()) + " values are left after failed Runs",
                 "release them on the way out");
  if (!any) throw NotApplicable("no probe asks the host for memory in a Run");
}

TENON_CHECK("injection.claim_sink", "capability returns an error when the host refuses a claim") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  const Claimed claimed = claimed_probes(target, subject)[0];
  const auto view = make_view(claimed.graph, claimed.graph.all_nodes());
  tenon_claim_sink sink{sizeof(tenon_claim_sink), 0, nullptr, nullptr, nullptr};
  sink.claim = [](void*, const tenon_claim*, tenon_error* error) -> tenon_status {
    if (error != nullptr && error->struct_size >= offsetof(tenon_error, message) + sizeof error->message) {
      error->code = TENON_RESOURCE_EXHAUSTED;
      error->flags = 0;
      error->where[0] = '\0';
      std::strcpy(error->message, "there is no room for another claim");
    }
    return TENON_RESOURCE_EXHAUSTED;
  };
  sink.reject = [](void*, const tenon_rejection*, tenon_error*) -> tenon_status { return TENON_OK; };
  const tenon_graph* raw = view.get();
  const tenon_claim_sink* given = &sink;
  if (try_call("capability", subject.api.capability, subject.instance, raw, given).ok())
    throw Failed("capability returns OK though the host refused the claim", "return what the sink returns");
  run_claim(subject, claimed);
}

TENON_CHECK("injection.device_sink", "enumerate_devices returns an error when the host refuses a device") {
  const Bench bench(target, Bench::Open::kProvider);
  const Subject& subject = *bench.subject;
  if (subject.enumerate().empty()) throw NotApplicable("the provider finds no device on this machine");
  tenon_device_sink sink{sizeof(tenon_device_sink), 0, nullptr, nullptr};
  sink.add = [](void*, const tenon_device_info*, tenon_error* error) -> tenon_status {
    if (error != nullptr && error->struct_size >= offsetof(tenon_error, message) + sizeof error->message) {
      error->code = TENON_RESOURCE_EXHAUSTED;
      error->flags = 0;
      error->where[0] = '\0';
      std::strcpy(error->message, "there is no room for another device");
    }
    return TENON_RESOURCE_EXHAUSTED;
  };
  const tenon_device_sink* given = &sink;
  if (try_call("enumerate_devices", subject.api.enumerate_devices, subject.provider, given).ok())
    throw Failed("enumerate_devices returns OK though the host refused a device",
                 "return what the sink returns");
  subject.enumerate();
}

}  // namespace tenon::cts
