#include "core/plan/plan.h"

#include "core/plan/alias.h"
#include "core/plan/pack.h"

namespace tenon::plan {
namespace {

Status check_value(const Request& request, ValueIndex value) {
  if (value == kNone || value < request.values.size()) return ok_status();
  return internal_error("a plan step names value ", value, " of ", request.values.size());
}

Status check_limits(const Request& request, DomainIndex domain, uint64_t bytes, std::string_view what) {
  if (domain >= request.domains.size()) {
    return internal_error("a plan names domain ", domain, " of ", request.domains.size());
  }
  if (bytes > uint64_t{1} << 62) return out_of_memory(what, " takes ", bytes, " bytes");
  const uint64_t limit = request.domains[domain].max_slab_bytes;
  if (limit == 0 || bytes <= limit) return ok_status();
  return out_of_memory(what, " takes ", bytes, " bytes, and one buffer of its memory domain holds at most ",
                       limit);
}

Status check(const Request& request) {
  for (const Value& value : request.values) {
    if (value.home != Home::kSlab) continue;
    RETURN_IF_ERROR(check_limits(request, value.domain, value.bytes, str_cat("value '", value.name, "'")));
  }
  for (const StepMemory& step : request.steps) {
    for (ValueIndex v : step.inputs) RETURN_IF_ERROR(check_value(request, v));
    for (ValueIndex v : step.outputs) RETURN_IF_ERROR(check_value(request, v));
    if (step.workspace.bytes == 0) continue;
    RETURN_IF_ERROR(
        check_limits(request, step.workspace.domain, step.workspace.bytes, "the workspace of a step"));
  }
  return ok_status();
}

/// Makes one block per value (only roots that live in a slab have bytes), then one per step for its workspace.
std::vector<Block> make_blocks(const Request& request, const Aliases& aliases) {
  std::vector<Block> blocks(request.values.size() + request.steps.size());
  for (ValueIndex v = 0; v < request.values.size(); ++v) {
    const Value& value = request.values[v];
    const bool placed =
        value.home == Home::kSlab && aliases.roots[v].value == v && aliases.lives[v].begin != kNone;
    blocks[v] = {value.domain, placed ? value.bytes : 0, aliases.lives[v]};
  }
  for (uint32_t s = 0; s < request.steps.size(); ++s) {
    const StepMemory& step = request.steps[s];
    Life life;
    life.begin = life.end = s;
    life.free_after = step.finished_at == kNone ? s : step.finished_at;
    life.stream = step.stream;
    blocks[request.values.size() + s] = {step.workspace.domain, step.workspace.bytes, life};
  }
  return blocks;
}

}  // namespace

uint64_t MemoryPlan::bytes_of(DomainIndex domain) const {
  uint64_t bytes = 0;
  for (const Slab& slab : slabs) bytes += slab.domain == domain ? slab.bytes : 0;
  return bytes;
}

Result<MemoryPlan> plan_memory(const Request& request) {
  RETURN_IF_ERROR(check(request));
  Aliases aliases = honour_aliases(request);
  Packing packing = pack(make_blocks(request, aliases), request.domains);

  MemoryPlan plan;
  const size_t value_count = request.values.size();
  plan.places.resize(value_count);
  for (ValueIndex v = 0; v < value_count; ++v) {
    const Root& root = aliases.roots[v];
    const Place& place = packing.places[root.value];
    if (place.slab == kNone || request.values[v].bytes == 0) continue;
    plan.places[v] = {place.slab, place.offset + root.byte_offset};
  }
  plan.workspaces.assign(packing.places.begin() + static_cast<ptrdiff_t>(value_count), packing.places.end());
  plan.roots = std::move(aliases.roots);
  plan.slabs = std::move(packing.slabs);
  return plan;
}

}  // namespace tenon::plan
