// The memory plan as pure data. In: the steps of one shape signature. Out: the place of every value in memory.
//
// A value lives in a slab (one block of memory per domain, or several where the domain limits a buffer) or outside:
// a constant, a graph input, an output buffer of the caller, a value made at run time. Values whose lives do not
// overlap may share bytes. Where the step allows it, an output takes the bytes of an input that is not used later
// (in place), or refers to them (a view).
//
// This library does not allocate or run anything and does not know operators or providers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "ep-sdk/include/tenon/ep.h"

namespace tenon::plan {

/// Index into Request::values.
using ValueIndex = uint32_t;
/// Index into Request::domains.
using DomainIndex = uint32_t;
inline constexpr uint32_t kNone = TENON_NO_INDEX;

/// Who provides a value's memory.
enum class Home {
  kSlab,     // the plan
  kOutside,  // another owner; a view of it is possible, writing in place is not
};

struct Value {
  Home home = Home::kSlab;
  DomainIndex domain = 0;
  uint64_t bytes = 0;
  bool kept = false;      // needed after the last step
  std::string_view name;  // for messages; borrowed during the call
};

enum class AliasKind : uint32_t {
  kNone = TENON_ALIAS_NONE,
  kMayOverwrite = TENON_ALIAS_MAY_OVERWRITE,
  kView = TENON_ALIAS_VIEW,
};

/// The alias that a step allows for one of its outputs. `input` is an index into StepMemory::inputs.
struct Alias {
  AliasKind kind = AliasKind::kNone;
  uint32_t input = 0;
  uint64_t byte_offset = 0;
};

struct Workspace {
  uint64_t bytes = 0;
  DomainIndex domain = 0;
};

/// What one step does with memory. Steps run in order. Steps with the same nonzero `stream` may return before their
/// work is done; the stream does that work in order. `finished_at` is then the step at whose start the work is known
/// to be done.
struct StepMemory {
  std::vector<ValueIndex> inputs;   // kNone where missing
  std::vector<ValueIndex> outputs;  // kNone where not used
  std::vector<Alias> aliases;       // one per output, or empty
  Workspace workspace;
  uint32_t stream = 0;
  uint32_t finished_at = kNone;  // kNone: with the step itself
};

struct Domain {
  uint64_t alignment = 64;      // of every value, a power of two
  uint64_t max_slab_bytes = 0;  // 0: no limit
};

struct Request {
  std::vector<Value> values;
  std::vector<StepMemory> steps;
  std::vector<Domain> domains;
};

/// `slab` is kNone for a value that lives outside or has no bytes.
struct Place {
  uint32_t slab = kNone;
  uint64_t offset = 0;
};

struct Slab {
  DomainIndex domain = 0;
  uint64_t bytes = 0;
};

/// Where the bytes of a value begin: `byte_offset` bytes into those of `root`; the value itself without an alias.
struct Root {
  ValueIndex value = kNone;
  uint64_t byte_offset = 0;
};

struct MemoryPlan {
  std::vector<Place> places;      // per value
  std::vector<Root> roots;        // per value
  std::vector<Place> workspaces;  // per step
  std::vector<Slab> slabs;

  uint64_t bytes_of(DomainIndex domain) const;
};

/// Places all values. The same request gives the same plan. OUT_OF_MEMORY names a value that alone exceeds the
/// limit of its domain. INTERNAL when an index is out of range.
Result<MemoryPlan> plan_memory(const Request& request);

}  // namespace tenon::plan
