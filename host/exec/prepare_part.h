// Prepares a part for known shapes. Compiles it first when its claim asks for static shapes. Used while planning,
// and during a Run for shapes that are known only then.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "host/device/program.h"
#include "host/exec/compiled_part.h"
#include "host/exec/executable.h"
#include "host/exec/knowledge.h"

namespace tenon::runtime {

/// Compiles `part` of `graph`. `types`: concrete types of its values for a claim with static shapes, else null.
Result<std::shared_ptr<Program>> compile_part(
    const ir::Graph& graph, const SharedState& shared, const CompiledPart& part,
    const std::unordered_map<ir::ValueId, ir::Type>* types = nullptr);

/// LIMIT_EXCEEDED, naming node and value, when an output of inferred shape is larger than the session's memory. To be
/// called before Prepare, in which a provider may build tables of that size.
Status check_sizes(const SharedState& shared, const CompiledPart& part, const Knowledge& knowledge);
/// The same for the shapes that Prepare returned.
Status check_sizes(const SharedState& shared, const CompiledPart& part, const Knowledge& knowledge,
                   const Prepared& prepared);

/// True when Prepare can be called: the shapes of all inputs and the values of all shape inputs are known.
bool can_prepare(const CompiledPart& part, const Knowledge& knowledge);

/// The part's nodes must have been inferred in `knowledge`.
Result<std::shared_ptr<const Prepared>> prepare_part(const SharedState& shared, const CompiledPart& part,
                                                     const Knowledge& knowledge);

}  // namespace tenon::runtime
