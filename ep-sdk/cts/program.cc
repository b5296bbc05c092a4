// Offer, Program and Prepared.

#include <algorithm>
#include <sstream>
#include <utility>

#include "ep-sdk/cts/execution.h"
#include "ep-sdk/cts/step.h"

namespace tenon::cts {
namespace {

/// Collects the calls of a claim sink.
struct Gathered {
  Offer offer;
  const tenon_graph* view;
};

tenon_status on_claim(void* context, const tenon_claim* raw, tenon_error*) {
  auto& gathered = *static_cast<Gathered*>(context);
  tenon_claim from{};
  std::memcpy(&from, raw, std::min<size_t>(raw->struct_size, sizeof from));
  if (from.struct_size < offsetof(tenon_claim, cost) + sizeof from.cost)
    host_state().violate(11, "a claim's struct_size is " + std::to_string(from.struct_size));
  if ((from.flags & ~3u) != 0)
    host_state().violate(12, "a claim has flags without meaning: " + std::to_string(from.flags));
  Claim claim;
  claim.flags = from.flags;
  claim.nodes.assign(from.nodes, from.nodes + from.node_count);
  claim.values.assign(from.values, from.values + from.value_count);
  for (tenon_claim_value& value : claim.values) {
    if (value.reserved != 0 || (value.flags & ~3u) != 0)
      host_state().violate(12, "a claim's value has reserved words or flags without meaning");
    if (value.value >= gathered.view->values.size()) {
      host_state().violate(27, "a claim names value " + std::to_string(value.value) + ", the graph has " +
                                   std::to_string(gathered.view->values.size()));
    } else {
      value.value = gathered.view->values[value.value].in_case;
    }
  }
  claim.input_domain = from.input_domain;
  claim.output_domain = from.output_domain;
  claim.tag = from.tag;
  gathered.offer.claims.push_back(std::move(claim));
  return TENON_OK;
}

tenon_status on_rejection(void* context, const tenon_rejection* raw, tenon_error*) {
  tenon_rejection from{};
  std::memcpy(&from, raw, std::min<size_t>(raw->struct_size, sizeof from));
  if (from.struct_size < offsetof(tenon_rejection, text) + sizeof from.text)
    host_state().violate(11, "a rejection's struct_size is " + std::to_string(from.struct_size));
  if (from.reserved != 0 || from.code > TENON_REJECT_INLINE)
    host_state().violate(12, "a rejection has a code or reserved word without meaning");
  static_cast<Gathered*>(context)->offer.rejections.push_back(
      {from.node, from.code, std::string(from.text.data == nullptr ? "" : from.text.data, from.text.size)});
  return TENON_OK;
}

/// Ends a view that a call borrowed. It stays in memory for some time, so that a later use is noticed.
void end(std::unique_ptr<tenon_graph> view) {
  static std::mutex mutex;
  static std::deque<std::unique_ptr<tenon_graph>> ended;
  view->end(host_state().scramble);
  const std::lock_guard lock(mutex);
  ended.push_back(std::move(view));
  if (ended.size() > 64) ended.pop_front();
}

std::string shape_text(const Dims& dims) {
  std::string out;
  for (const int64_t dim : dims) out += (out.empty() ? "" : ",") + std::to_string(dim);
  return "[" + out + "]";
}

/// Whether all dims are known.
bool has_shape(const Tensor& tensor) {
  return std::none_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t d) { return d < 0; });
}

}  // namespace

bool Claim::is_shape_input(uint32_t value) const {
  return std::any_of(values.begin(), values.end(), [&](const tenon_claim_value& v) {
    return v.value == value && (v.flags & TENON_CLAIM_SHAPE_INPUT) != 0;
  });
}

uint32_t Claim::domain_of(uint32_t value, bool is_output) const {
  if (!is_output && is_shape_input(value)) return TENON_DOMAIN_HOST;
  for (const tenon_claim_value& v : values) {
    if (v.value == value && (v.flags & TENON_CLAIM_DOMAIN) != 0) return v.domain;
  }
  return is_output ? output_domain : input_domain;
}

std::string Offer::to_string() const {
  std::ostringstream out;
  for (const Claim& claim : claims) {
    out << "claim " << claim.flags << " of";
    for (const uint32_t n : claim.nodes) out << " " << n;
    out << " in " << claim.input_domain << " out " << claim.output_domain << " tag " << claim.tag;
    for (const tenon_claim_value& v : claim.values)
      out << " value " << v.value << ":" << v.flags << ":" << v.domain;
    out << "\n";
  }
  for (const Rejection& rejection : rejections)
    out << "rejection of " << rejection.node << " for " << rejection.code << ": " << rejection.text << "\n";
  return out.str();
}

Offer ask(const Subject& subject, const GraphCase& graph, tenon_instance* instance) {
  enter(Step::kCapability);
  auto view = make_view(graph, graph.all_nodes());
  Gathered gathered{{}, view.get()};
  const tenon_claim_sink sink{sizeof(tenon_claim_sink), 0, &gathered, on_claim, on_rejection};
  const tenon_graph* raw = view.get();
  const CallResult result = try_call("capability", subject.api.capability,
                                     instance == nullptr ? subject.instance : instance, raw, &sink);
  end(std::move(view));
  if (!result.ok()) throw CallFailed(result.status, "capability: " + result.text);
  return std::move(gathered.offer);
}

// ---- Program ----

Program::Program(const Subject& subject, const GraphCase& graph, Claim given, tenon_instance* instance)
    : subject(subject), graph(graph), claim(std::move(given)) {
  enter(Step::kCompile);
  view_ = make_view(graph, claim.nodes, (claim.flags & TENON_CLAIM_STATIC) != 0);
  for (const uint32_t v : view_->inputs) inputs_.push_back(view_->values[v].in_case);
  for (const uint32_t v : view_->outputs) outputs_.push_back(view_->values[v].in_case);
  tenon_compile_args args{};
  args.struct_size = sizeof args;
  args.graph = view_.get();
  args.tag = claim.tag;
  call("compile", subject.api.compile, instance == nullptr ? subject.instance : instance, &args, &handle);
  if (handle == nullptr) throw Failed("R32: compile returns OK and no program", "set *out_program");
  view_->end(host_state().scramble);
}

Program::~Program() {
  try {
    destroy();
  } catch (const std::exception& e) {
    host_state().violate(8, e.what());
  }
}

void Program::destroy() { cts::destroy("program_destroy", subject.api.program_destroy, handle); }

bool Program::has_constants() const {
  return std::any_of(view_->values.begin(), view_->values.end(),
                     [](const auto& value) { return value.info.flags == TENON_VALUE_CONSTANT; });
}

void Program::protect_constants(bool consumed, Access access) const {
  for (uint32_t v = 0; v < view_->values.size(); ++v) {
    if (view_->values[v].info.flags != TENON_VALUE_CONSTANT) continue;
    if ((view_->consumed.count(v) != 0) == consumed) view_->values[v].memory.protect(access);
  }
}

// ---- Prepared ----

Prepared::Prepared(const Program& program, const PrepareSetup& setup) : program(program) {
  const GraphCase& graph = program.graph;
  std::vector<tenon_tensor> inputs;
  std::deque<Dims> dims;
  std::deque<std::vector<int64_t>> offsets;
  std::deque<std::string> characters;
  const GuardedMemory nobody(1);
  nobody.protect(Access::kNone);
  for (const uint32_t value : program.inputs()) {
    tenon_tensor& raw = inputs.emplace_back(
        describe(graph.values[value].tensor, offsets.emplace_back(), characters.emplace_back()));
    raw.dims = dims.emplace_back(graph.values[value].tensor.dims).data();
    raw.domain = program.claim.domain_of(value, false);
    if (program.claim.is_shape_input(value)) continue;
    raw.data = setup.seal_data ? nobody.data() : nullptr;
    raw.offsets = nullptr;
  }
  const size_t count = program.outputs().size();
  std::vector<Dims> room(count, Dims(TENON_EP_MAX_RANK));
  std::vector<tenon_shape> answer(count);
  for (size_t i = 0; i < count; ++i) {
    const Tensor& wanted = graph.values[program.outputs()[i]].tensor;
    std::copy(wanted.dims.begin(), wanted.dims.end(), room[i].begin());
    // For a value that is not a tensor the host sets AT_RUN.
    const bool infers = setup.infer_outputs && has_shape(wanted);
    const uint32_t known = !infers                            ? 0u
                           : wanted.kind == TENON_KIND_TENSOR ? static_cast<uint32_t>(TENON_SHAPE_KNOWN)
                                                              : static_cast<uint32_t>(TENON_SHAPE_AT_RUN);
    answer[i] = {known == TENON_SHAPE_KNOWN ? static_cast<uint32_t>(wanted.dims.size()) : 0u, known,
                 room[i].data()};
  }
  aliases.resize(count);
  std::vector<uint8_t> memory(sizeof(tenon_prepare_args) + setup.extra_struct_bytes, 0xC7);
  auto* args = reinterpret_cast<tenon_prepare_args*>(memory.data());
  *args = {};
  args->struct_size = static_cast<uint32_t>(memory.size());
  args->input_count = static_cast<uint32_t>(inputs.size());
  args->output_count = static_cast<uint32_t>(count);
  args->inputs = inputs.data();
  args->outputs = answer.data();
  args->aliases = aliases.data();
  call("prepare", program.subject.api.prepare, program.handle, args, &handle);
  if (std::any_of(memory.begin() + sizeof(tenon_prepare_args), memory.end(),
                  [](uint8_t b) { return b != 0xC7; }))
    host_state().violate(11, "prepare writes beyond the fields of its header");
  if (handle == nullptr) throw Failed("prepare returns OK and nothing prepared", "set *out_prepared");
  workspace_bytes = args->workspace_bytes;
  workspace_alignment = args->workspace_alignment;
  workspace_domain = args->workspace_domain;
  judge(answer, setup);
}

void Prepared::judge(const std::vector<tenon_shape>& answer, const PrepareSetup& setup) {
  for (size_t i = 0; i < answer.size(); ++i) {
    const GraphCase::Value& value = program.graph.values[program.outputs()[i]];
    const Tensor& wanted = value.tensor;
    // The kit does not know the right shape of an open value without data, or when inference did not find it.
    const bool is_free =
        (value.is_open && wanted.bytes.empty() && !setup.infer_outputs) || !has_shape(wanted);
    const std::string name = "output " + std::to_string(i);
    at_run.push_back(answer[i].flags == TENON_SHAPE_AT_RUN);
    shapes.emplace_back();
    if (wanted.kind != TENON_KIND_TENSOR || at_run.back()) continue;
    if (answer[i].flags != TENON_SHAPE_KNOWN)
      throw Failed("R33: prepare leaves the shape of " + name + " open",
                   "answer each shape as known or as known only after running");
    if (answer[i].rank > TENON_EP_MAX_RANK)
      throw Failed("R34: prepare gives " + name + " the rank " + std::to_string(answer[i].rank),
                   "keep to 32");
    shapes.back().assign(answer[i].dims, answer[i].dims + answer[i].rank);
    const bool negative =
        std::any_of(shapes.back().begin(), shapes.back().end(), [](int64_t d) { return d < 0; });
    if (negative)
      throw Failed("R34: prepare gives " + name + " the shape " + shape_text(shapes.back()),
                   "give dimensions from 0 up");
    if (shapes.back() != wanted.dims && !is_free)
      throw Failed("R33: prepare gives " + name + " the shape " + shape_text(shapes.back()) + " where " +
                       shape_text(wanted.dims) + (setup.infer_outputs ? " was inferred" : " is right"),
                   "do not contradict what the host has inferred");
    const tenon_alias& alias = aliases[i];
    if (alias.kind == TENON_ALIAS_NONE) continue;
    if (alias.kind > TENON_ALIAS_VIEW || alias.input >= program.inputs().size())
      throw Failed("R35: the alias of " + name + " has kind " + std::to_string(alias.kind) +
                       " and names input " + std::to_string(alias.input),
                   "name an input of the program");
    const Tensor& input = program.graph.values[program.inputs()[alias.input]].tensor;
    const uint64_t bytes = bytes_of(wanted.dtype, shapes.back());
    if (alias.kind == TENON_ALIAS_VIEW && alias.byte_offset + bytes > input.bytes.size())
      throw Failed("R35: the view of " + name + " reaches beyond its input", "keep within it");
  }
  if (workspace_bytes == 0) return;
  if (workspace_alignment == 0 || (workspace_alignment & (workspace_alignment - 1)) != 0)
    throw Failed("R36: the workspace's alignment is " + std::to_string(workspace_alignment),
                 "ask for a power of two");
  if (workspace_domain != TENON_DOMAIN_HOST && program.subject.domain(workspace_domain) == nullptr)
    throw Failed("R36: the workspace is in domain " + std::to_string(workspace_domain) +
                     ", which the device does not have",
                 "name the host's domain or one of the device's");
}

Prepared::~Prepared() {
  try {
    destroy();
  } catch (const std::exception& e) {
    host_state().violate(8, e.what());
  }
}

void Prepared::destroy() { cts::destroy("prepared_destroy", program.subject.api.prepared_destroy, handle); }

}  // namespace tenon::cts
