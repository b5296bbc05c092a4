#include "ep-sdk/cts/mini_host.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ep-sdk/cts/host_table.h"

namespace tenon::cts {
namespace {

[[noreturn]] void broken(const std::string& what) { throw std::runtime_error(what); }

/// A fresh error and what the provider wrote into it.
struct ErrorBox {
  tenon_error error{};
  ErrorBox() { error.struct_size = sizeof(error); }
  void check(tenon_status status, const char* what) const {
    if (status == TENON_OK) return;
    const std::string where = error.where[0] != '\0' ? std::string(error.where) + ": " : "";
    throw CallFailed(status, std::string(what) + ": " + where + error.message);
  }
};

struct Answer {
  int claims = 0;
  uint32_t code = TENON_REJECT_OTHER;
  std::string text;
  std::vector<uint32_t> shape_inputs;  // values
  uint32_t input_domain = TENON_DOMAIN_HOST, output_domain = TENON_DOMAIN_HOST;

  bool is_shape_input(uint32_t value) const {
    return std::count(shape_inputs.begin(), shape_inputs.end(), value) != 0;
  }
};

tenon_status on_claim(void* context, const tenon_claim* claim, tenon_error*) {
  auto& answer = *static_cast<Answer*>(context);
  answer.claims += static_cast<int>(claim->node_count);
  answer.input_domain = claim->input_domain;
  answer.output_domain = claim->output_domain;
  for (uint32_t i = 0; i < claim->value_count; ++i) {
    if ((claim->values[i].flags & TENON_CLAIM_SHAPE_INPUT) != 0)
      answer.shape_inputs.push_back(claim->values[i].value);
  }
  return TENON_OK;
}

tenon_status on_rejection(void* context, const tenon_rejection* rejection, tenon_error*) {
  auto& answer = *static_cast<Answer*>(context);
  answer.code = rejection->code;
  answer.text.assign(rejection->text.data, rejection->text.size);
  return TENON_OK;
}

/// Memory of the provider's; freed with the case.
class DeviceMemory {
 public:
  DeviceMemory(const tenon_ep_api& api, tenon_device* device) : api_(api), device_(device) {}
  ~DeviceMemory() {
    for (tenon_buffer* buffer : buffers_) api_.free(device_, buffer, nullptr);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  tenon_buffer* allocate(uint32_t domain, uint64_t bytes) {
    ErrorBox box;
    tenon_buffer* buffer = nullptr;
    void* address = nullptr;
    box.check(api_.allocate(device_, domain, bytes, nullptr, &buffer, &address, &box.error), "allocate");
    buffers_.push_back(buffer);
    return buffer;
  }
  void write(uint32_t domain, tenon_buffer* to, const void* from, uint64_t bytes) {
    copy({domain, 0, to, nullptr, 0}, {TENON_DOMAIN_HOST, 0, nullptr, const_cast<void*>(from), 0}, bytes);
  }
  void read(uint32_t domain, tenon_buffer* from, void* to, uint64_t bytes) {
    copy({TENON_DOMAIN_HOST, 0, nullptr, to, 0}, {domain, 0, from, nullptr, 0}, bytes);
  }

 private:
  void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes) {
    ErrorBox box;
    box.check(api_.copy(device_, &to, &from, bytes, nullptr, &box.error), "copy");
  }

  const tenon_ep_api& api_;
  tenon_device* device_;
  std::vector<tenon_buffer*> buffers_;
};

/// The run-time inputs with everything that their descriptors point to.
struct Inputs {
  std::vector<const Tensor*> tensors;
  std::vector<std::vector<int64_t>> offsets;
  std::vector<std::string> characters;
  std::vector<tenon_tensor> raw;
  std::vector<tenon_value*> objects;

  explicit Inputs(const NodeCase& node) {
    for (const Tensor& t : node.inputs) {
      if (t.kind != TENON_KIND_NONE && !t.constant) tensors.push_back(&t);
    }
    offsets.resize(tensors.size());
    characters.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      raw.push_back(describe(*tensors[i], offsets[i], characters[i]));
      if (tensors[i]->kind != TENON_KIND_TENSOR) {
        objects.push_back(make_value(*tensors[i]));
        raw.back().object = objects.back();
      }
    }
  }
  ~Inputs() {
    for (tenon_value* object : objects) release_value(object);
  }

  /// Takes what the provider does not want in host memory to its own.
  void move(const tenon_graph& graph, const Answer& answer, DeviceMemory& memory) {
    if (answer.input_domain == TENON_DOMAIN_HOST) return;
    for (size_t i = 0; i < raw.size(); ++i) {
      if (answer.is_shape_input(graph.inputs[i])) continue;
      raw[i].domain = answer.input_domain;
      raw[i].data = nullptr;
      if (raw[i].byte_size == 0) continue;
      raw[i].buffer = memory.allocate(raw[i].domain, raw[i].byte_size);
      memory.write(raw[i].domain, raw[i].buffer, tensors[i]->bytes.data(), raw[i].byte_size);
    }
  }

  /// What input `i` holds now, wherever it is.
  std::vector<uint8_t> bytes(size_t i, DeviceMemory& memory) const {
    if (raw[i].buffer == nullptr) return tensors[i]->bytes;
    std::vector<uint8_t> out(raw[i].byte_size);
    memory.read(raw[i].domain, raw[i].buffer, out.data(), out.size());
    return out;
  }
};

/// The outputs of a Run in memory between guards.
struct Outputs {
  std::vector<const Tensor*> wanted;
  std::vector<tenon_tensor> raw;
  tenon_run run;

  explicit Outputs(const NodeCase& node) {
    for (const Tensor& t : node.outputs) {
      if (t.kind != TENON_KIND_NONE) wanted.push_back(&t);
    }
    raw.resize(wanted.size());
    run.outputs.resize(wanted.size());
  }

  /// Guards on either side; a multiple of every alignment that a domain may ask for.
  static constexpr uint64_t kDeviceGuard = 4096;

  void place(const std::vector<tenon_shape>& shapes, const std::vector<tenon_alias>& aliases,
             const Inputs& inputs, Placement placement, uint32_t domain, DeviceMemory& device_memory) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      tenon_run::Output& output = run.outputs[i];
      output.tensor.kind = wanted[i]->kind;
      output.tensor.dtype = raw[i].dtype = wanted[i]->dtype;
      raw[i].kind = wanted[i]->kind;
      if (wanted[i]->kind != TENON_KIND_TENSOR || (shapes[i].flags & TENON_SHAPE_KNOWN) == 0) continue;
      output.tensor.dims.assign(shapes[i].dims, shapes[i].dims + shapes[i].rank);
      raw[i].rank = shapes[i].rank;
      raw[i].dims = output.tensor.dims.data();
      raw[i].byte_size = ep::dtype_bytes(wanted[i]->dtype, static_cast<uint64_t>(output.tensor.size()));
      if (domain == TENON_DOMAIN_HOST) {
        output.memory.assign(raw[i].byte_size + 2 * kGuardBytes, kGuard);
        raw[i].data = output.memory.data() + kGuardBytes;
      } else {
        output.memory.assign(raw[i].byte_size + 2 * kDeviceGuard, kGuard);
        raw[i].domain = domain;
        raw[i].buffer = device_memory.allocate(domain, output.memory.size());
        raw[i].byte_offset = kDeviceGuard;
        device_memory.write(domain, raw[i].buffer, output.memory.data(), output.memory.size());
      }
      if (placement == Placement::kShared && aliases[i].kind != TENON_ALIAS_NONE &&
          wanted[i]->dtype != TENON_STRING) {
        share(i, aliases[i], inputs);
      }
    }
  }

  void share(size_t i, const tenon_alias& alias, const Inputs& inputs) {
    const tenon_tensor& in = inputs.raw[alias.input];
    if (alias.byte_offset + raw[i].byte_size > in.byte_size) broken("an alias reaches beyond its input");
    if (in.domain != raw[i].domain) return;
    if (in.domain != TENON_DOMAIN_HOST) {
      raw[i].buffer = in.buffer;
      raw[i].byte_offset = in.byte_offset + alias.byte_offset;
      return;
    }
    raw[i].data = static_cast<uint8_t*>(in.data) + alias.byte_offset;
  }

  /// Fetches what lies on the device, guards included where they are.
  void fetch(DeviceMemory& device_memory) {
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i].buffer == nullptr) continue;
      tenon_run::Output& output = run.outputs[i];
      const bool own = raw[i].byte_offset == kDeviceGuard;
      std::vector<uint8_t> all(raw[i].byte_offset + raw[i].byte_size + (own ? kDeviceGuard : 0));
      device_memory.read(raw[i].domain, raw[i].buffer, all.data(), all.size());
      const auto begin = all.begin() + static_cast<long>(raw[i].byte_offset);
      if (own) {
        output.memory.assign(begin - kGuardBytes, begin + static_cast<long>(raw[i].byte_size + kGuardBytes));
      } else {
        output.memory.assign(kGuardBytes, kGuard);
        output.memory.insert(output.memory.end(), begin, begin + static_cast<long>(raw[i].byte_size));
        output.memory.insert(output.memory.end(), kGuardBytes, kGuard);
      }
      raw[i].data = output.memory.data() + kGuardBytes;
    }
  }

  Tensor read(size_t i) const {
    const tenon_run::Output& output = run.outputs[i];
    Tensor out = output.tensor;
    if (out.kind != TENON_KIND_TENSOR || out.dtype == TENON_STRING) {
      if (!output.given) broken("output " + std::to_string(i) + " was not given");
      return out;
    }
    const auto* data = static_cast<const uint8_t*>(raw[i].data);
    if (data == nullptr && raw[i].byte_size > 0) broken("output " + std::to_string(i) + " has no memory");
    out.bytes.assign(data, data + raw[i].byte_size);
    const auto& memory = output.memory;
    const auto intact = [&](size_t from) {
      return std::all_of(memory.begin() + static_cast<long>(from),
                         memory.begin() + static_cast<long>(from + kGuardBytes),
                         [](uint8_t b) { return b == kGuard; });
    };
    if (!intact(0) || !intact(memory.size() - kGuardBytes))
      broken("output " + std::to_string(i) + " was overrun");
    return out;
  }
};

/// A handle with its destructor.
template <class T>
struct Owned {
  T* handle = nullptr;
  void (*destroy)(T*) = nullptr;
  ~Owned() {
    if (handle != nullptr) destroy(handle);
  }
};

}  // namespace

MiniHost::MiniHost(const std::string& manifest) {
  const auto json = nlohmann::json::parse(std::ifstream(manifest));
  const auto path =
      std::filesystem::path(manifest).parent_path() / json["library"]["path"].get<std::string>();
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) broken(dlerror());
  const auto negotiate = reinterpret_cast<tenon_ep_negotiate_fn>(dlsym(library_, "tenon_ep_negotiate"));
  if (negotiate == nullptr) broken(path.string() + " exports no tenon_ep_negotiate");
  tenon_ep_negotiation io{};
  io.struct_size = sizeof(io);
  io.host_major_lowest = io.host_major_highest = TENON_EP_ABI_MAJOR;
  io.host_minor = TENON_EP_ABI_MINOR;
  io.host = &host_table();
  if (negotiate(&io) != TENON_OK) broken(path.string() + " refuses: " + io.reason);
  api_ = io.api;
  id_ = io.provider_id;
  completes_ = json.value("/traits/completes"_json_pointer, false);

  ErrorBox box;
  tenon_provider_params provider_params{};
  provider_params.struct_size = sizeof(provider_params);
  box.check(api_->provider_create(&provider_params, &provider_, &box.error), "provider_create");
  std::vector<std::string> devices;
  tenon_device_sink sink{sizeof(tenon_device_sink), 0, &devices, nullptr};
  sink.add = [](void* context, const tenon_device_info* device, tenon_error*) -> tenon_status {
    static_cast<std::vector<std::string>*>(context)->emplace_back(device->stable_id.data,
                                                                  device->stable_id.size);
    return TENON_OK;
  };
  box.check(api_->enumerate_devices(provider_, &sink, &box.error), "enumerate_devices");
  if (devices.empty()) broken(id_ + " has no device here");
  box.check(api_->device_open(provider_, {devices[0].data(), devices[0].size()}, &device_, &box.error),
            "device_open");
  tenon_instance_params instance_params{};
  instance_params.struct_size = sizeof(instance_params);
  if (api_->device_domains != nullptr) {
    tenon_domain_sink domain_sink{sizeof(tenon_domain_sink), 0, &alignments_, nullptr};
    domain_sink.add = [](void* context, const tenon_domain_info* domain, tenon_error*) -> tenon_status {
      (*static_cast<std::map<uint32_t, uint32_t>*>(context))[domain->id] = domain->alignment;
      return TENON_OK;
    };
    box.check(api_->device_domains(device_, &domain_sink, &box.error), "device_domains");
  }
  for (const auto& [domain, alignment] : alignments_) {
    if (Outputs::kDeviceGuard % alignment != 0)
      broken("memory domain " + std::to_string(domain) + " is aligned to more than this host can give");
  }
  box.check(api_->instance_create(device_, &instance_params, &instance_, &box.error), "instance_create");
}

MiniHost::~MiniHost() {
  if (instance_ != nullptr) api_->instance_destroy(instance_);
  if (device_ != nullptr) api_->device_close(device_);
  if (provider_ != nullptr) api_->provider_destroy(provider_);
  if (library_ != nullptr) dlclose(library_);
}

bool MiniHost::claims(const NodeCase& node) const {
  const tenon_graph graph = make_graph(node);
  ErrorBox box;
  Answer answer;
  const tenon_claim_sink sink{sizeof(tenon_claim_sink), 0, &answer, on_claim, on_rejection};
  box.check(api_->capability(instance_, &graph, &sink, &box.error), "capability");
  return answer.claims != 0;
}

std::vector<Tensor> MiniHost::run(const NodeCase& given, Placement placement) {
  const NodeCase node = given;  // its data may be overwritten by an in-place Run
  const int live_before = live_values();
  const tenon_graph graph = make_graph(node);
  ErrorBox box;

  Answer answer;
  const tenon_claim_sink sink{sizeof(tenon_claim_sink), 0, &answer, on_claim, on_rejection};
  box.check(api_->capability(instance_, &graph, &sink, &box.error), "capability");
  if (answer.claims == 0) throw Rejected(answer.code, answer.text);

  const tenon_compile_args compile_args{sizeof(tenon_compile_args), 0, &graph, 0};
  Owned<tenon_program> program{nullptr, api_->program_destroy};
  box.check(api_->compile(instance_, &compile_args, &program.handle, &box.error), "compile");

  std::vector<Tensor> results;
  {
    DeviceMemory memory(*api_, device_);
    Inputs inputs(node);
    inputs.move(graph, answer, memory);
    Outputs outputs(node);

    // Prepare sees data of shape inputs only.
    std::vector<tenon_tensor> shape_view = inputs.raw;
    for (size_t i = 0; i < shape_view.size(); ++i) {
      if (!answer.is_shape_input(graph.inputs[i]))
        shape_view[i].data = nullptr, shape_view[i].offsets = nullptr, shape_view[i].buffer = nullptr;
    }
    std::vector<std::vector<int64_t>> dims(outputs.wanted.size(), std::vector<int64_t>(TENON_EP_MAX_RANK));
    std::vector<tenon_shape> shapes(outputs.wanted.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Tensor& wanted = *outputs.wanted[i];
      std::copy(wanted.dims.begin(), wanted.dims.end(), dims[i].begin());
      shapes[i] = {static_cast<uint32_t>(wanted.dims.size()),
                   wanted.kind == TENON_KIND_TENSOR ? static_cast<uint32_t>(TENON_SHAPE_KNOWN) : 0u,
                   dims[i].data()};
    }
    std::vector<tenon_alias> aliases(shapes.size());
    tenon_prepare_args prepare{};
    prepare.struct_size = sizeof(prepare);
    prepare.input_count = static_cast<uint32_t>(shape_view.size());
    prepare.output_count = static_cast<uint32_t>(shapes.size());
    prepare.inputs = shape_view.data();
    prepare.outputs = shapes.data();
    prepare.aliases = aliases.data();
    Owned<tenon_prepared> prepared{nullptr, api_->prepared_destroy};
    box.check(api_->prepare(program.handle, &prepare, &prepared.handle, &box.error), "prepare");

    outputs.place(shapes, aliases, inputs, placement, answer.output_domain, memory);
    outputs.run.inputs = inputs.raw;
    const auto alignment = std::max<uintptr_t>(64, prepare.workspace_alignment);
    std::vector<uint8_t> workspace(prepare.workspace_bytes + alignment);
    const auto address = reinterpret_cast<uintptr_t>(workspace.data());
    tenon_tensor workspace_tensor{};
    workspace_tensor.kind = TENON_KIND_TENSOR;
    workspace_tensor.dtype = TENON_UINT8;
    workspace_tensor.byte_size = prepare.workspace_bytes;
    workspace_tensor.domain = prepare.workspace_domain;
    if (prepare.workspace_domain == TENON_DOMAIN_HOST) {
      workspace_tensor.data = workspace.data() + (alignment - address % alignment) % alignment;
    } else if (prepare.workspace_bytes > 0) {
      workspace_tensor.buffer = memory.allocate(prepare.workspace_domain, prepare.workspace_bytes);
    }

    tenon_run_args run{};
    run.struct_size = sizeof(run);
    run.program = program.handle;
    run.prepared = prepared.handle;
    run.inputs = inputs.raw.data();
    run.outputs = outputs.raw.data();
    run.input_count = static_cast<uint32_t>(inputs.raw.size());
    run.output_count = static_cast<uint32_t>(outputs.raw.size());
    run.workspace = prepare.workspace_bytes > 0 ? &workspace_tensor : nullptr;
    run.run = &outputs.run;
    Owned<tenon_binding> binding{nullptr, api_->unbind};
    if (api_->bind != nullptr) {
      const tenon_bind_args bind{sizeof(tenon_bind_args),
                                 0,
                                 run.program,
                                 run.prepared,
                                 run.inputs,
                                 run.outputs,
                                 run.input_count,
                                 run.output_count,
                                 run.workspace};
      box.check(api_->bind(&bind, &binding.handle, &box.error), "bind");
      run.binding = binding.handle;
    }
    box.check(api_->run(&run, &box.error), "run");
    outputs.fetch(memory);

    size_t next = 0;
    for (const Tensor& wanted : node.outputs)
      results.push_back(wanted.kind == TENON_KIND_NONE ? none() : outputs.read(next++));
    for (size_t i = 0; i < inputs.tensors.size() && placement == Placement::kApart; ++i) {
      size_t at = 0;
      while (&node.inputs[at] != inputs.tensors[i]) ++at;
      if (inputs.bytes(i, memory) != given.inputs[at].bytes)
        broken("input " + std::to_string(at) + " was changed");
    }
  }
  if (live_values() != live_before) broken("values leaked: " + std::to_string(live_values() - live_before));
  return results;
}

std::vector<std::string> manifests_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().string().ends_with(".tenon.json")) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tenon::cts
