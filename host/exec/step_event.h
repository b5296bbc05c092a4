// Steps in traces.
#pragma once

#include "host/exec/executable.h"
#include "host/exec/plan.h"
#include "host/services/trace.h"

namespace tenon::runtime {

/// The event of a step, without its times: named by the part's label, or by the value that is copied.
Trace::Event event_of_step(const Executable& executable, const Plan& plan, const PlanStep& step);

}  // namespace tenon::runtime
