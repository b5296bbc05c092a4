#include "core/plan/alias.h"

#include <algorithm>

namespace tenon::plan {
namespace {

uint32_t finished_at(const Request& request, uint32_t step) {
  const uint32_t at = request.steps[step].finished_at;
  return at == kNone ? step : std::max(at, step);
}

class Honourer {
 public:
  explicit Honourer(const Request& request)
      : request_(request), overwritten_at_(request.values.size(), kNone) {
    result_.roots.resize(request.values.size());
    result_.lives.resize(request.values.size());
    members_.resize(request.values.size());
    for (ValueIndex v = 0; v < request.values.size(); ++v) {
      result_.roots[v] = {v, 0};
      members_[v] = {v};
    }
    collect_readers();
  }

  Aliases run() {
    for (uint32_t s = 0; s < request_.steps.size(); ++s) {
      const Step& step = request_.steps[s];
      for (uint32_t o = 0; o < step.outputs.size(); ++o) {
        if (step.outputs[o] != kNone && o < step.aliases.size())
          consider(s, step.outputs[o], step.aliases[o]);
      }
    }
    fill_lives();
    return std::move(result_);
  }

 private:
  void collect_readers() {
    readers_.resize(request_.values.size());
    for (uint32_t s = 0; s < request_.steps.size(); ++s) {
      for (ValueIndex v : request_.steps[s].inputs) {
        if (v == kNone) continue;
        if (readers_[v].empty() || readers_[v].back() != s) readers_[v].push_back(s);
      }
    }
  }

  void consider(uint32_t s, ValueIndex output, const Alias& alias) {
    const Step& step = request_.steps[s];
    if (alias.kind == AliasKind::kNone || alias.input >= step.inputs.size()) return;
    const ValueIndex input = step.inputs[alias.input];
    if (input == kNone || request_.values[output].home != Home::kSlab) return;
    if (request_.values[input].domain != request_.values[output].domain) return;
    const uint64_t room = request_.values[input].bytes;
    if (alias.byte_offset > room || request_.values[output].bytes > room - alias.byte_offset) return;
    uint32_t& overwritten_at = overwritten_at_[result_.roots[input].value];
    if (overwritten_at == s) return;  // another output of this step is about to write there
    if (alias.kind == AliasKind::kMayOverwrite) {
      if (!may_overwrite(s, input, output)) return;
      overwritten_at = s;
    }
    join(output, input, alias.kind == AliasKind::kView ? alias.byte_offset : 0);
  }

  /// The input dies here: nobody reads it or anything that shares its bytes afterwards or at the same time.
  bool may_overwrite(uint32_t s, ValueIndex input, ValueIndex output) const {
    const Root root = result_.roots[input];
    if (request_.values[root.value].home != Home::kSlab) return false;
    const uint64_t alignment = request_.domains[request_.values[output].domain].alignment;
    if (root.byte_offset % alignment != 0) return false;
    const Step& step = request_.steps[s];
    int uses_here = 0;
    for (ValueIndex v : step.inputs) uses_here += v != kNone && result_.roots[v].value == root.value;
    if (uses_here != 1) return false;
    for (ValueIndex v : step.outputs) {
      if (v != kNone && v != output && result_.roots[v].value == root.value) return false;
    }
    for (ValueIndex member : members_[root.value]) {
      if (request_.values[member].kept) return false;
      for (uint32_t reader : readers_[member]) {
        if (reader > s) return false;
        const bool ordered = reader == s || finished_at(request_, reader) < s ||
                             (step.stream != 0 && request_.steps[reader].stream == step.stream);
        if (!ordered) return false;
      }
    }
    return true;
  }

  void join(ValueIndex output, ValueIndex input, uint64_t byte_offset) {
    const Root root = result_.roots[input];
    result_.roots[output] = {root.value, root.byte_offset + byte_offset};
    members_[root.value].push_back(output);
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
  std::vector<uint32_t> overwritten_at_;  // per root: the last step that writes into it in place
  Aliases result_;
  std::vector<std::vector<ValueIndex>> members_;  // per root
  std::vector<std::vector<uint32_t>> readers_;    // per value: steps, ascending
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
