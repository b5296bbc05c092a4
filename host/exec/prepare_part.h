// Prepares a part for known shapes; compiles it first when its claim asks for concrete shapes. Used while
// planning and, for shapes that only a Run brings, during it.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "host/device/program.h"
#include "host/exec/executable.h"
#include "host/exec/knowledge.h"
#include "host/exec/part.h"

namespace tenon::runtime {

/// What a compile of `part` sees of `graph`. `types`: for claims with static shapes, else null.
Result<std::shared_ptr<Program>> compile_part(
    const ir::Graph& graph, const ExecutableContext& context, const Part& part,
    const std::unordered_map<ir::ValueId, ir::Type>* types = nullptr);

/// LIMIT_EXCEEDED, naming node and value, when an output whose shape inference knows is larger than the session's
/// memory. Asked before Prepare, which may make tables as long as the output.
Status check_sizes(const ExecutableContext& context, const Part& part, const Knowledge& knowledge);
/// The same for the shapes that Prepare answered.
Status check_sizes(const ExecutableContext& context, const Part& part, const Knowledge& knowledge,
                   const Prepared& prepared);

/// True when Prepare can be called: the shapes of all inputs and the values of all shape inputs are known.
bool can_prepare(const Part& part, const Knowledge& knowledge);

/// `knowledge` has been asked to infer the part's nodes.
Result<std::shared_ptr<const Prepared>> prepare_part(const ExecutableContext& context, const Part& part,
                                                     const Knowledge& knowledge);

}  // namespace tenon::runtime
