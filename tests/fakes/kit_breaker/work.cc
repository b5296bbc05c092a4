#include "work.h"

#include <unistd.h>

#include <cfenv>
#include <chrono>
#include <clocale>
#include <cstdlib>
#include <mutex>

namespace breaker {
namespace {

constexpr uint64_t kWorkspace = 64;

/// Applies the requested disturbance of the process.
void disturb() {
  if (breaks("R8.abort")) std::abort();
  if (breaks("R9.rounding")) std::fesetround(FE_UPWARD);
  if (breaks("R9.directory") && chdir("/") != 0) std::abort();
  if (breaks("R9.environment")) setenv("KIT_BREAKER", "was here", 1);
  if (breaks("R9.locale")) std::setlocale(LC_ALL, "C.UTF-8");
  if (breaks("R41.memory")) {
    static char* volatile memory;
    memory = new char[100];
    delete[] memory;
  }
  if (breaks("R41.lock")) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
  }
}

void relu(const Binding& binding, tenon_run* run) {
  auto* out = static_cast<float*>(binding.out);
  const float* x = binding.x;
  const int64_t n = binding.prepared.size - (breaks("R39.short") ? 1 : 0);
  const bool over = breaks("R35.overwrite") && static_cast<const void*>(out) == x;
  const auto piece = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = x[i] > 0 && !over ? x[i] : 0;
    if (breaks("R44")) out[begin] = 1e6F;
  };
  tenon::ep::parallel_for(run, n, 1000, piece);
  if (breaks("operators.probes")) out[0] = 17;
  if (breaks("R39.overrun")) reinterpret_cast<unsigned char*>(out)[binding.prepared.size * 4] = 1;
  if (breaks("R39.input")) const_cast<float*>(x)[0] += 1;
}

void add(const Binding& binding, tenon_run* run) {
  auto* out = static_cast<float*>(binding.out);
  const Program& program = binding.program;
  const float* row = binding.y != nullptr ? binding.y : program.row.data();
  if (breaks("R30.consumed") && program.constant != nullptr) row = program.constant;
  if (breaks("R30.write") && program.constant != nullptr) const_cast<float*>(program.constant)[0] += 1;
  if (run != nullptr) {  // copies the row through scratch memory
    const auto bytes = static_cast<uint64_t>(binding.prepared.row) * sizeof(float);
    void* scratch = host().scratch(run, bytes);
    if (!breaks("injection.host_memory"))
      require(scratch != nullptr, TENON_RESOURCE_EXHAUSTED, "there is no scratch memory");
    row = static_cast<float*>(std::memcpy(scratch, row, bytes));
  }
  for (int64_t i = 0; i < binding.prepared.size; ++i) out[i] = binding.x[i] + row[i % binding.prepared.row];
}

void greater(const Binding& binding) {
  auto* out = static_cast<unsigned char*>(binding.out);
  const unsigned char yes = breaks("R42") ? 255 : 1;
  for (int64_t i = 0; i < binding.prepared.size; ++i) out[i] = binding.x[i] > binding.y[i] ? yes : 0;
}

void gather(const Binding& binding) {
  const Prepared& prepared = binding.prepared;
  const auto* index = reinterpret_cast<const int64_t*>(binding.y);
  const auto bytes = static_cast<size_t>(prepared.row) * sizeof(float);
  for (int64_t i = 0; i * prepared.row < prepared.size; ++i) {
    const int64_t at = index[i] < 0 ? index[i] + prepared.rows : index[i];
    require(at >= 0 && at < prepared.rows, TENON_INVALID_ARGUMENT, "index ", index[i], " of ", prepared.rows,
            " rows");
    std::memcpy(static_cast<float*>(binding.out) + i * prepared.row, binding.x + at * prepared.row, bytes);
  }
}

void non_zero(const Binding& binding, tenon_run* run) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < binding.prepared.size; ++i) {
    if (binding.x[i] != 0) found.push_back(i);
  }
  const int64_t dims[] = {1, static_cast<int64_t>(found.size())};
  tenon_tensor out{};
  for (int i = 0; i < (breaks("R40") ? 2 : 1); ++i)
    tenon::ep::call_host(host().alloc_output, run, 0u, 2u, static_cast<const int64_t*>(dims), &out);
  if (!found.empty()) std::memcpy(out.data, found.data(), found.size() * sizeof(int64_t));
}

}  // namespace

bool crowded(const char* defect) {
  if (!breaks(defect)) return false;
  static std::atomic<int> inside{0};
  const bool alone = inside++ == 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  --inside;
  return !alone;
}

Program::Program(Instance& instance, const tenon_graph* raw)
    : instance(instance), graph(raw), maker(std::this_thread::get_id()) {
  require(!breaks("R29"), TENON_INTERNAL, "node 'tested': cannot be compiled after all");
  const GraphView graph_view(raw);
  const tenon_node_info node = graph_view.node(0);
  const std::string_view name = view(node.op_type);
  op = name == "Relu"      ? Op::kRelu
       : name == "Add"     ? Op::kAdd
       : name == "Greater" ? Op::kGreater
       : name == "Gather"  ? Op::kGather
                           : Op::kNonZero;
  const bool fixed = op == Op::kAdd && (graph_view.value(node.inputs[1]).flags & TENON_VALUE_CONSTANT) != 0;
  if (!fixed) return;
  tenon_tensor tensor{};
  require(host().graph_constant(raw, node.inputs[1], &tensor) == TENON_OK, TENON_INTERNAL, "no constant");
  constant = static_cast<const float*>(tensor.data);
  constant_size = static_cast<int64_t>(tensor.byte_size / sizeof(float));
  row.assign(constant, constant + constant_size);
  if (host().graph_constant_consumed != nullptr && !breaks("R30.write"))
    host().graph_constant_consumed(raw, node.inputs[1]);
  if (breaks("R30.early")) row[0] = constant[0];
}

Prepared::Prepared(const Program& program, tenon_prepare_args& args) : program(program) {
  for (uint32_t d = 0; d < args.inputs[0].rank; ++d) size *= args.inputs[0].dims[d];
  if (program.op == Op::kAdd) {
    row = program.constant_size;
    if (args.input_count > 1) {
      row = 1;
      for (uint32_t d = 0; d < args.inputs[1].rank; ++d) row *= args.inputs[1].dims[d];
    }
  }
  tenon_shape& out = args.outputs[0];
  std::vector<int64_t> dims(args.inputs[0].dims, args.inputs[0].dims + args.inputs[0].rank);
  if (program.op == Op::kGather) {
    const tenon_tensor& index = args.inputs[1];
    rows = dims[0];
    row = rows == 0 ? 0 : size / rows;
    dims.erase(dims.begin());
    dims.insert(dims.begin(), index.dims, index.dims + index.rank);
    size = 1;
    for (const int64_t d : dims) size *= d;
  }
  if (program.op == Op::kNonZero) {
    out.flags = TENON_SHAPE_AT_RUN;
  } else if ((out.flags & TENON_SHAPE_KNOWN) == 0) {
    out.rank = static_cast<uint32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), out.dims);
    out.flags = TENON_SHAPE_KNOWN;
  }
  if (program.op == Op::kRelu) args.aliases[0] = {TENON_ALIAS_MAY_OVERWRITE, 0, 0};
  args.workspace_bytes = kWorkspace;
  args.workspace_alignment = 64;
  args.workspace_domain = program.instance.device->own_memory ? 1 : TENON_DOMAIN_HOST;
  if (breaks("R11"))
    std::memset(reinterpret_cast<char*>(&args) + sizeof(args), 0, args.struct_size - sizeof(args));
  if (breaks("R37") && args.inputs[0].data != nullptr)
    size += *static_cast<volatile const char*>(args.inputs[0].data) & 0;
}

Binding::Binding(const tenon_bind_args& args)
    : program(*reinterpret_cast<const Program*>(args.program)),
      prepared(*reinterpret_cast<const Prepared*>(args.prepared)) {
  x = static_cast<const float*>(args.inputs[0].data);
  if (args.input_count > 1) y = static_cast<const float*>(args.inputs[1].data);
  out = args.outputs[0].data;
  workspace = static_cast<unsigned char*>(args.workspace->data);
  if (breaks("R46"))
    prepared.last_addresses[0] = x, prepared.last_addresses[1] = y, prepared.last_addresses[2] = out;
}

void execute(const Binding& given, const tenon_tensor* inputs, tenon_run* run) {
  disturb();
  Binding binding = given;
  const Prepared& prepared = binding.prepared;
  const Program& program = binding.program;
  if (breaks("R46")) {
    binding.x = static_cast<const float*>(prepared.last_addresses[0]);
    binding.y = static_cast<const float*>(prepared.last_addresses[1]);
    binding.out = const_cast<void*>(prepared.last_addresses[2]);
  }
  if (breaks("R43")) binding.x = static_cast<const float*>(inputs[0].data);
  require(!breaks("R31") || std::this_thread::get_id() == program.maker, TENON_INTERNAL, "another thread");
  require(!g_trimmed, TENON_INTERNAL, "what this program needs was given back");
  require(!program.spoiled, TENON_INTERNAL, "this program ended with its prepared object");
  if (breaks("R14")) {
    tenon_graph_info info{};
    info.struct_size = sizeof(info);
    host().graph_info(program.graph, &info);
  }
  if (breaks("R36.overrun")) binding.workspace[kWorkspace] = 1;
  const bool disturbed = crowded("R13.runs");
  switch (program.op) {
    case Op::kRelu:
      relu(binding, run);
      if (disturbed) static_cast<float*>(binding.out)[0] += 1;
      if (breaks("R36.stale")) static_cast<float*>(binding.out)[0] += binding.workspace[0];
      if (breaks("R38") && ++prepared.runs > 3) static_cast<float*>(binding.out)[0] += 1;
      break;
    case Op::kAdd:
      add(binding, run);
      break;
    case Op::kGreater:
      greater(binding);
      break;
    case Op::kNonZero:
      non_zero(binding, run);
      break;
    case Op::kGather:
      gather(binding);
      break;
  }
}

}  // namespace breaker
