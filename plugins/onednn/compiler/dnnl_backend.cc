#include "compiler/dnnl_backend.h"

#include <array>

#include "compiler/dnnl_data.h"

namespace tenon::onednn {

struct Call::Data {
  Primitive primitive;
  dnnl_stream_t stream;
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

namespace {

/// The DNNL_ARG_x constant for a role.
int argument_of(int role) {
  if (role >= kFirstSource) return DNNL_ARG_MULTIPLE_SRC + (role - kFirstSource);
  if (role >= kFirstPostOp) return DNNL_ARG_ATTR_MULTIPLE_POST_OP(role - kFirstPostOp) | DNNL_ARG_SRC_1;
  constexpr std::array kArguments = {DNNL_ARG_SRC,      DNNL_ARG_SRC_1,     DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS,
                                     DNNL_ARG_DST,      DNNL_ARG_SCALE,     DNNL_ARG_SHIFT,   DNNL_ARG_MEAN,
                                     DNNL_ARG_VARIANCE, DNNL_ARG_SCRATCHPAD};
  static_assert(kArguments.size() == kScratch + 1);
  return kArguments[static_cast<size_t>(role)];
}

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) [[likely]]
    return;
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  ep::fail(TENON_INTERNAL, "oneDNN failed in ", what, " with status ", static_cast<int>(status));
}

}  // namespace

Engine::Engine() {
  try {
    data_ = std::make_unique<Data>();
  } catch (const dnnl::error& e) {
    ep::fail(TENON_UNAVAILABLE, "oneDNN has no engine for this processor: ", e.what());
  }
}
Engine::~Engine() = default;

Layout Primitive::layout(int role) const {
  return wrap(data_->description.query_md(dnnl::query::exec_arg_md, argument_of(role)));
}
const std::string& Primitive::implementation() const { return data_->implementation; }

Call::Call(const Engine& engine, const Primitive& primitive, const std::vector<int>& roles)
    : data_(std::make_unique<Data>()) {
  data_->primitive = primitive;
  data_->stream = engine.data().stream.get();
  for (const int role : roles) {
    const Layout layout = primitive.layout(role);
    ep::require(static_cast<bool>(layout), TENON_INTERNAL, "the primitive ", primitive.implementation(),
                " has no argument of role ", role);
    data_->memories.emplace_back(layout.data().desc, engine.data().engine, static_cast<void*>(nullptr));
    data_->arguments.push_back({argument_of(role), data_->memories.back().get()});
  }
}
Call::~Call() = default;
Call::Call(Call&&) noexcept = default;

void Call::set(size_t argument, void* address) {
  check(dnnl_memory_set_data_handle(data_->arguments[argument].memory, address), "setting an address");
}

void Call::run() const {
  check(dnnl_primitive_execute(data_->primitive.data().primitive.get(), data_->stream,
                               static_cast<int>(data_->arguments.size()), data_->arguments.data()),
        "executing a primitive");
}

void load_library() { (void)library(); }

bool has_winograd() {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

bool has_bf16() {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

}  // namespace tenon::onednn
