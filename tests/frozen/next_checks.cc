// The check that the kit of the invented next minor has beyond the kit of today: it calls what that minor appends, but
// only where the provider has it.
#include "ep-sdk/cts/bench.h"

namespace tenon::cts {

TENON_CHECK("next.device_sleep", "the device sleeps") {
  const Bench bench(target, Bench::Open::kDevice);
  const Subject& subject = *bench.subject;
  if (subject.api.device_sleep == nullptr)
    throw NotApplicable("the provider is of a minor without device_sleep");
  call("device_sleep", subject.api.device_sleep, subject.device, uint64_t{1});
}

}  // namespace tenon::cts
