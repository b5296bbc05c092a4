#include "host/session/state_layout.h"

#include <algorithm>
#include <string_view>

#include "host/base/text.h"

namespace tenon::session {
namespace {

/// "a*b" as "a" and "b". Without a star `tail` is not used.
struct Pattern {
  explicit Pattern(std::string_view text) {
    const size_t star = text.find('*');
    is_glob = star != std::string_view::npos;
    head = text.substr(0, star);
    if (is_glob) tail = text.substr(star + 1);
  }
  /// True when the pattern covers `name`; `out_middle` is then what the star stands for.
  bool covers(std::string_view name, std::string_view* out_middle) const {
    if (!is_glob) return name == head;
    if (name.size() < head.size() + tail.size() || name.substr(0, head.size()) != head) return false;
    if (name.substr(name.size() - tail.size()) != tail) return false;
    *out_middle = name.substr(head.size(), name.size() - head.size() - tail.size());
    return true;
  }
  std::string with(std::string_view middle) const {
    return is_glob ? str_cat(head, middle, tail) : std::string(head);
  }

  std::string_view head, tail;
  bool is_glob = false;
};

class Finder {
 public:
  Finder(const config::Config& config, const IoList& inputs, const IoList& outputs)
      : pairs_(config->state.pairs),
        place_(config.find("state.pairs")->origin()),
        inputs_(inputs),
        outputs_(outputs) {}

  Result<std::vector<StateEntry>> run() {
    for (const std::string& text : pairs_) RETURN_IF_ERROR(expand(text));
    for (StateEntry& entry : entries_) {
      RETURN_IF_ERROR(check_types(entry));
      if (inputs_[entry.input].default_value == nullptr) RETURN_IF_ERROR(find_first_dims(&entry));
    }
    return std::move(entries_);
  }

 private:
  template <class... Parts>
  Status fail(const Parts&... parts) const {
    return config_error(place_, ": 'state.pairs' ", parts...);
  }

  Status expand(const std::string& text) {
    const size_t equals = text.find('=');
    const std::string_view both = text;
    const Pattern input(both.substr(0, equals)), output(both.substr(equals + 1));
    if (!input.is_glob) {
      const Result<uint32_t> found = inputs_.find(input.head);
      if (!found.ok()) return fail("holds '", text, "', but ", found.error().message());
    }
    bool any = false;
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      std::string_view middle;
      if (!input.covers(inputs_[i].name, &middle)) continue;
      any = true;
      RETURN_IF_ERROR(add(text, i, output.with(middle)));
    }
    return any ? ok_status() : fail("holds '", text, "', but no input of the model has such a name");
  }

  Status add(const std::string& text, uint32_t input, const std::string& output_name) {
    const Result<uint32_t> output = outputs_.find(output_name);
    if (!output.ok()) return fail("holds '", text, "', but ", output.error().message());
    StateEntry entry;
    entry.input = input;
    entry.output = *output;
    entry.input_name = inputs_[input].name;
    entry.output_name = output_name;
    entry.dtype = static_cast<uint32_t>(inputs_[input].type.element);
    for (const StateEntry& other : entries_) {
      if (other.input == input) return fail("names input '", entry.input_name, "' twice");
      if (other.output == *output) return fail("names output '", output_name, "' twice");
    }
    for (uint32_t o = 0; o < outputs_.size(); ++o) {
      if (o != *output && outputs_[o].name == output_name)
        return fail("names output '", output_name, "', which the model lists twice");
    }
    entries_.push_back(std::move(entry));
    return ok_status();
  }

  Status check_types(const StateEntry& entry) const {
    const IoEntry &input = inputs_[entry.input], &output = outputs_[entry.output];
    const bool is_open = output.type.kind == ir::ValueKind::kUnknown;  // checked when it is made
    for (const IoEntry* each : {&input, &output}) {
      if (each == &output && is_open) continue;
      const ir::Type& type = each->type;
      const bool is_numeric = type.is_tensor() && type.element != ir::ElementType::kString &&
                              type.element != ir::ElementType::kUndefined;
      if (!is_numeric)
        return fail("names '", each->name, "', which is ", each->type_text,
                    "; a state holds numeric tensors");
    }
    const auto differ = [&](const auto&... why) {
      return fail("pairs input '", input.name, "' (", input.type_text, ") with output '", output.name, "' (",
                  output.type_text, "): ", why...);
    };
    if (!input.type.shape.has_rank) return differ("the input has no declared rank");
    if (is_open) return ok_status();
    if (input.type.element != output.type.element) return differ("their element types differ");
    if (!output.type.shape.has_rank) return ok_status();
    if (input.dims.size() != output.dims.size()) return differ("their ranks differ");
    for (size_t d = 0; d < input.dims.size(); ++d) {
      if (input.dims[d] >= 0 && output.dims[d] >= 0 && input.dims[d] != output.dims[d])
        return differ("dim ", d, " differs");
    }
    return ok_status();
  }

  bool is_paired(uint32_t input) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const StateEntry& entry) { return entry.input == input; });
  }

  /// Finds a dim with this symbol in an input that the application gives.
  bool find_given(const std::string& symbol, FirstDim* out) const {
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      const std::vector<std::string>& names = inputs_[i].dim_names;
      const auto at = std::find(names.begin(), names.end(), symbol);
      if (symbol.empty() || at == names.end() || is_paired(i)) continue;
      *out = {0, true, i, static_cast<uint32_t>(at - names.begin())};
      return true;
    }
    return false;
  }

  /// A dim that nothing tells is the one that grows: it is 0 at first.
  Status find_first_dims(StateEntry* entry) const {
    const IoEntry &input = inputs_[entry->input], &output = outputs_[entry->output];
    size_t open = 0;
    for (size_t d = 0; d < input.dims.size(); ++d) {
      FirstDim dim;
      const std::string& symbol = input.dim_names[d];
      if (input.dims[d] >= 0) {
        dim.size = input.dims[d];
      } else if (!find_given(symbol, &dim)) {
        ++open;
        const bool stays = !symbol.empty() && output.type.shape.has_rank && output.dim_names[d] == symbol;
        if (stays || open > 1) {
          return fail("names input '", input.name, "' (", input.type_text,
                      "), and the first Run cannot know its dim ", d,
                      ": name it like a dim of an input that the application gives, make it fixed, or give "
                      "the input a default value, which then is the first value");
        }
      }
      entry->first_dims.push_back(dim);
    }
    return ok_status();
  }

  const std::vector<std::string>& pairs_;
  std::string place_;
  const IoList &inputs_, &outputs_;
  std::vector<StateEntry> entries_;
};

}  // namespace

Result<std::vector<StateEntry>> find_state_entries(const config::Config& config, const IoList& inputs,
                                                   const IoList& outputs) {
  if (config->state.pairs.empty()) return std::vector<StateEntry>();
  return Finder(config, inputs, outputs).run();
}

Result<std::shared_ptr<runtime::Buffer>> StateLayout::allocate(const StateEntry& entry,
                                                               const runtime::MemoryDomain& domain,
                                                               uint64_t bytes) const {
  if (!domain.is_host()) {
    Status status = take(*domain.device, bytes);
    if (!status.ok()) return std::move(status).with_context(str_cat("the state of '", entry.input_name, "'"));
  }
  Result<runtime::Buffer> made = runtime::Buffer::allocate(domain, bytes);
  if (!made.ok()) {
    if (!domain.is_host()) give_back(*domain.device, bytes);
    return std::move(made).error().with_context(str_cat("the state of '", entry.input_name, "'"));
  }
  const auto free = [self = shared_from_this(), bytes](runtime::Buffer* buffer) {
    if (!buffer->domain()->is_host()) self->give_back(*buffer->domain()->device, bytes);
    delete buffer;
  };
  return std::shared_ptr<runtime::Buffer>(new runtime::Buffer(std::move(*made)), free);
}

Status StateLayout::take(const runtime::Device& device, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  uint64_t& used = used_[&device];
  if (device_limit_ != 0 && (bytes > device_limit_ || used > device_limit_ - bytes)) {
    return limit_exceeded("the states of the session have ", used, " bytes on '", device.id(), "', and ",
                          bytes, " more are above memory.device_limit, which is ", device_limit_,
                          "; raise it, release states, or use shorter sequences");
  }
  used += bytes;
  return ok_status();
}

void StateLayout::give_back(const runtime::Device& device, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto at = used_.find(&device);
  if (at == used_.end()) return;
  at->second -= std::min(at->second, bytes);
  if (at->second == 0) used_.erase(at);
}

}  // namespace tenon::session
