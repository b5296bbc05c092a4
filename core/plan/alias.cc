#include "core/plan/alias.h"

#include <algorithm>

namespace tenon::plan {
namespace {

uint32_t finished_at(const Request& request, uint32_t step) {
  const uint32_t at = request.steps[step].finished_at;
  return at == kNone ? step : std::max(at, step);
}

/// The end times of the steps that have read a value so far.
class Readers {
 public:
  void add(uint32_t stream, uint32_t finished) {
    if (stream != stream_ && finished + 1 > latest_) {
      others_ = latest_;
      stream_ = stream;
    }
    uint32_t& mine = stream == stream_ ? latest_ : others_;
    mine = std::max(mine, finished + 1);
  }
  /// Whether all reads are done when step `s` of `stream` begins. Work of one stream is done in order; stream 0
  /// means no stream.
  bool done_before(uint32_t s, uint32_t stream) const {
    return (stream != 0 && stream == stream_ ? others_ : latest_) <= s;
  }

 private:
  uint32_t stream_ = kNone;
  uint32_t latest_ = 0;  // one more than the latest end, which is of `stream_`; 0: none
  uint32_t others_ = 0;  // the same over all other streams
};

/// The state of all values that share the bytes of one root.
struct Group {
  uint32_t last_reader = 0;  // the last step that reads it, also in the future; 0: none
  bool kept = false;
  Readers so_far;
  uint32_t overwritten_at = kNone;  // the last step that writes into it in place
  uint32_t joined_at = kNone;       // the last step with an output that joined
  uint32_t read_at =
      kNone;  // the last step that was counted; `reads`: how many of its inputs are in the group
  uint32_t reads = 0;
};

class Honourer {
 public:
  explicit Honourer(const Request& request) : request_(request), groups_(request.values.size()) {
    result_.roots.resize(request.values.size());
    result_.lives.resize(request.values.size());
    for (ValueIndex v = 0; v < request.values.size(); ++v) {
      result_.roots[v] = {v, 0};
      groups_[v].kept = request.values[v].kept;
    }
    for (uint32_t s = 0; s < request_.steps.size(); ++s) {
      for (ValueIndex v : request_.steps[s].inputs) {
        if (v != kNone) groups_[v].last_reader = s;
      }
    }
  }

  Aliases run() {
    for (uint32_t s = 0; s < request_.steps.size(); ++s) {
      const StepMemory& step = request_.steps[s];
      count_reads(s);
      for (uint32_t o = 0; o < step.outputs.size(); ++o) {
        if (step.outputs[o] != kNone && o < step.aliases.size())
          consider(s, step.outputs[o], step.aliases[o]);
      }
      for (ValueIndex v : step.inputs) {
        if (v != kNone) group_of(v).so_far.add(step.stream, finished_at(request_, s));
      }
    }
    fill_lives();
    return std::move(result_);
  }

 private:
  Group& group_of(ValueIndex value) { return groups_[result_.roots[value].value]; }

  void count_reads(uint32_t s) {
    for (ValueIndex v : request_.steps[s].inputs) {
      if (v == kNone) continue;
      Group& group = group_of(v);
      group.reads = group.read_at == s ? group.reads + 1 : 1;
      group.read_at = s;
    }
  }

  void consider(uint32_t s, ValueIndex output, const Alias& alias) {
    const StepMemory& step = request_.steps[s];
    if (alias.kind == AliasKind::kNone || alias.input >= step.inputs.size()) return;
    const ValueIndex input = step.inputs[alias.input];
    if (input == kNone || request_.values[output].home != Home::kSlab) return;
    if (request_.values[input].domain != request_.values[output].domain) return;
    const uint64_t room = request_.values[input].bytes;
    if (alias.byte_offset > room || request_.values[output].bytes > room - alias.byte_offset) return;
    Group& group = group_of(input);
    if (group.overwritten_at == s) return;  // another output of this step writes there
    if (alias.kind == AliasKind::kMayOverwrite) {
      if (!may_overwrite(s, input, output)) return;
      group.overwritten_at = s;
    }
    group.joined_at = s;
    join(output, input, alias.kind == AliasKind::kView ? alias.byte_offset : 0);
  }

  /// Whether the output may take the bytes of the input: nothing else reads the group now or later.
  bool may_overwrite(uint32_t s, ValueIndex input, ValueIndex output) const {
    const Root root = result_.roots[input];
    if (request_.values[root.value].home != Home::kSlab) return false;
    const uint64_t alignment = request_.domains[request_.values[output].domain].alignment;
    if (root.byte_offset % alignment != 0) return false;
    const Group& group = groups_[root.value];
    const bool read_once = group.read_at == s && group.reads == 1 && group.last_reader <= s;
    return read_once && !group.kept && group.joined_at != s &&
           group.so_far.done_before(s, request_.steps[s].stream);
  }

  void join(ValueIndex output, ValueIndex input, uint64_t byte_offset) {
    const Root root = result_.roots[input];
    result_.roots[output] = {root.value, root.byte_offset + byte_offset};
    Group& group = groups_[root.value];
    group.last_reader = std::max(group.last_reader, groups_[output].last_reader);
    group.kept = group.kept || groups_[output].kept;
  }

  void fill_lives() {
    const auto step_count = static_cast<uint32_t>(request_.steps.size());
    for (uint32_t s = 0; s < step_count; ++s) {
      for (ValueIndex v : request_.steps[s].inputs) touch(v, s);
      for (ValueIndex v : request_.steps[s].outputs) touch(v, s);
    }
    for (ValueIndex v = 0; v < request_.values.size(); ++v) {
      if (!request_.values[v].kept) continue;
      Life& life = result_.lives[result_.roots[v].value];
      if (life.begin == kNone) life.begin = 0;
      life.end = life.free_after = step_count;
      life.one_stream = false;
    }
  }

  void touch(ValueIndex value, uint32_t s) {
    if (value == kNone) return;
    Life& life = result_.lives[result_.roots[value].value];
    const uint32_t stream = request_.steps[s].stream;
    if (life.begin == kNone) {
      life.begin = s;
      life.stream = stream;
    }
    life.one_stream = life.one_stream && life.stream == stream;
    life.end = s;
    life.free_after = std::max(life.free_after, finished_at(request_, s));
  }

  const Request& request_;
  std::vector<Group> groups_;  // by root; before a value joins another, by value
  Aliases result_;
};

}  // namespace

bool may_share(const Life& first, const Life& second) {
  const Life& early = first.begin <= second.begin ? first : second;
  const Life& late = first.begin <= second.begin ? second : first;
  const bool in_order = early.one_stream && late.one_stream && early.stream == late.stream;
  return (in_order ? early.end : early.free_after) < late.begin;
}

Aliases honour_aliases(const Request& request) { return Honourer(request).run(); }

}  // namespace tenon::plan
