#include "host/device/program.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/stop.h"
#include "host/device/value.h"

namespace tenon::runtime {
namespace {

template <class... Parts>
Status broken(const Program& program, const Parts&... parts) {
  return internal_error(parts...)
      .with_context(program.label())
      .with_context(program.instance().device().provider()->label())
      .with_instance(program.instance().id());
}

std::string text_of(std::span<const int64_t> dims) {
  return ir::Shape::of({dims.begin(), dims.end()}).to_string();
}

/// Checks what every provider may rely on: a rank that fits its arrays, no negative dims, and a size in bytes that
/// fits int64_t for any element type. `what` is "input", "output" or "value".
Status check_shape(std::string_view what, size_t index, std::span<const int64_t> dims) {
  constexpr int64_t kWidest = 16;  // bytes of an element
  if (dims.size() > TENON_EP_MAX_RANK) {
    return unsupported(what, " ", index, " has rank ", dims.size(), ", but the highest supported rank is ",
                       TENON_EP_MAX_RANK, "; use fewer axes");
  }
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) {
    return invalid_model(what, " ", index, " has the shape ", text_of(dims), ", which has a negative dim");
  }
  int64_t count = 0, bytes = 0;
  if (count_elements(dims, &count) && !__builtin_mul_overflow(count, kWidest, &bytes)) return ok_status();
  return out_of_memory(what, " ", index, " of shape ", text_of(dims), " is larger than the address space");
}

Status check_shapes(std::span<const tenon_tensor> inputs, std::span<const Prepared::Dims> outputs,
                    std::span<const Prepared::Dims> values) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == TENON_KIND_TENSOR)
      RETURN_IF_ERROR(check_shape("input", i, {inputs[i].dims, inputs[i].rank}));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != nullptr) RETURN_IF_ERROR(check_shape("output", i, *outputs[i]));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != nullptr) RETURN_IF_ERROR(check_shape("value", i, *values[i]));
  }
  return ok_status();
}

}  // namespace

Program::~Program() {
  if (handle_ != nullptr) api().program_destroy(handle_);
}

Result<std::shared_ptr<Program>> Program::compile(const std::shared_ptr<Instance>& instance, GraphView& view,
                                                  uint64_t tag, std::string label) {
  constexpr std::string_view kDoing = "it was compiled";
  auto out = std::shared_ptr<Program>(new Program);
  out->instance_ = instance;
  out->label_ = std::move(label);
  RETURN_IF_ERROR(check_stop(kDoing).with_context(out->label_));
  tenon_compile_args args{};
  args.struct_size = sizeof(args);
  args.graph = view.handle();
  args.tag = tag;
  args.cancel = current_stop_word();
  tenon_error error = make_error();
  const tenon_status status = out->api().compile(instance->handle(), &args, &out->handle_, &error);
  if (status != TENON_OK) {
    out->handle_ = nullptr;
    return out->status(status, error, kDoing);
  }
  if (out->handle_ == nullptr) return broken(*out, "R32: compile succeeded without giving a program");
  out->constants_ = view.take_constants();
  for (uint32_t v = 0; view.node_count() > 1 && v < view.value_count(); ++v)
    out->values_.push_back(view.value_id(v));
  return out;
}

std::mutex* Program::run_mutex() const {
  switch (instance_->device().serialize()) {
    case TENON_SERIALIZE_NONE:
      return nullptr;
    case TENON_SERIALIZE_BINDING:
      return instance_->has_bind() ? nullptr : &mutex_;
    case TENON_SERIALIZE_PROGRAM:
      return &mutex_;
    default:
      return &instance_->device().run_mutex();  // an unknown number: use the strictest rule
  }
}

Status Program::status(tenon_status code, const tenon_error& error, std::string_view doing) const {
  if (code == TENON_OK) return ok_status();
  if (Device::is_late(error)) return instance_->status(code, error);  // not of this program
  Status status = take_status(code, error, {}, instance_->device().provider()->is_built_in());
  if (code == TENON_CANCELLED) status = or_stopped(std::move(status), doing);
  if (status.where().empty()) status = std::move(status).with_context(label_);
  return instance_->device().blame(std::move(status).with_context(instance_->device().provider()->label()));
}

Prepared::~Prepared() {
  if (handle_ != nullptr) program_->api().prepared_destroy(handle_);
}

Prepared::Dims Prepared::no_shape() {
  static const std::vector<int64_t> kNoShape;
  return &kNoShape;
}

Result<std::shared_ptr<const Prepared>> Prepared::make(std::shared_ptr<const Program> program,
                                                       std::span<const tenon_tensor> inputs,
                                                       std::span<const Dims> outputs,
                                                       std::span<const Dims> values) {
  constexpr std::string_view kDoing = "it was prepared for its shapes";
  auto out = std::shared_ptr<Prepared>(new Prepared(std::move(program)));
  RETURN_IF_ERROR(check_stop(kDoing).with_context(out->program_->label()));
  RETURN_IF_ERROR(check_shapes(inputs, outputs, values).with_context(out->program_->label()));
  std::vector<int64_t> room(outputs.size() * TENON_EP_MAX_RANK);
  std::vector<tenon_shape> shapes(outputs.size()), value_shapes(values.size());
  std::vector<tenon_alias> aliases(outputs.size(), tenon_alias{});
  for (size_t i = 0; i < outputs.size(); ++i) {
    shapes[i] = {0, 0, room.data() + i * TENON_EP_MAX_RANK};
    if (outputs[i] == no_shape()) shapes[i].flags = TENON_SHAPE_AT_RUN;
    if (outputs[i] == nullptr || outputs[i] == no_shape()) continue;
    shapes[i].rank = static_cast<uint32_t>(outputs[i]->size());
    shapes[i].flags = TENON_SHAPE_KNOWN;
    std::copy(outputs[i]->begin(), outputs[i]->end(), shapes[i].dims);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr) continue;
    value_shapes[i] = {static_cast<uint32_t>(values[i]->size()), TENON_SHAPE_KNOWN,
                       const_cast<int64_t*>(values[i]->data())};
  }
  tenon_prepare_args args{};
  args.struct_size = sizeof(args);
  args.input_count = static_cast<uint32_t>(inputs.size());
  args.output_count = static_cast<uint32_t>(outputs.size());
  args.value_count = static_cast<uint32_t>(values.size());
  args.inputs = inputs.data();
  args.outputs = shapes.data();
  args.values = values.empty() ? nullptr : value_shapes.data();
  args.aliases = aliases.data();
  args.cancel = current_stop_word();
  tenon_error error = make_error();
  const tenon_status status =
      out->program_->api().prepare(out->program_->handle(), &args, &out->handle_, &error);
  if (status != TENON_OK) {
    out->handle_ = nullptr;
    return out->program_->status(status, error, kDoing);
  }
  RETURN_IF_ERROR(out->check(args, inputs, outputs));
  return std::shared_ptr<const Prepared>(std::move(out));
}

Status Prepared::check(const tenon_prepare_args& args, std::span<const tenon_tensor> inputs,
                       std::span<const Dims> inferred) {
  for (uint32_t i = 0; i < args.output_count; ++i) {
    const tenon_shape& shape = args.outputs[i];
    PreparedOutput output;
    if ((shape.flags & TENON_SHAPE_AT_RUN) != 0) {
      output.at_run = true;
    } else if ((shape.flags & TENON_SHAPE_KNOWN) != 0) {
      const std::span<const int64_t> dims(shape.dims, shape.rank);
      int64_t count = 0;
      if (shape.rank > TENON_EP_MAX_RANK || !count_elements(dims, &count)) {
        const bool too_large = std::none_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; });
        if (too_large && shape.rank <= TENON_EP_MAX_RANK) {
          return out_of_memory("output ", i, " of shape ", text_of(dims), " is larger than the address space")
              .with_context(program_->label());
        }
        return broken(*program_, "R34: prepare gave output ", i, " an invalid shape");
      }
      output.dims.assign(dims.begin(), dims.end());
      if (inferred[i] != nullptr && inferred[i] != no_shape() && *inferred[i] != output.dims) {
        return broken(*program_, "R33: prepare gave output ", i, " the shape ", text_of(dims), " where ",
                      text_of(*inferred[i]), " was inferred");
      }
    } else {
      return broken(*program_, "R33: prepare left the shape of output ", i, " open");
    }
    const tenon_alias& alias = args.aliases[i];
    if (alias.kind != TENON_ALIAS_NONE && !output.at_run) {
      const bool known = alias.kind == TENON_ALIAS_MAY_OVERWRITE || alias.kind == TENON_ALIAS_VIEW;
      if (!known || alias.input >= inputs.size() || alias.byte_offset > inputs[alias.input].byte_size) {
        return broken(*program_, "R35: prepare gave output ", i, " an invalid alias: kind ", alias.kind,
                      ", to input ", alias.input, " at byte ", alias.byte_offset);
      }
      output.alias = alias;
    }
    outputs_.push_back(std::move(output));
  }
  workspace_bytes_ = args.workspace_bytes;
  workspace_alignment_ = args.workspace_alignment == 0 ? 64 : args.workspace_alignment;
  workspace_domain_ = program_->instance().device().find_domain(args.workspace_domain);
  if (workspace_domain_ == nullptr || !std::has_single_bit(workspace_alignment_)) {
    return broken(*program_, "R36: prepare asked for a workspace in domain ", args.workspace_domain,
                  " with an alignment of ", args.workspace_alignment);
  }
  return ok_status();
}

Result<Binding> Binding::make(std::shared_ptr<const Prepared> prepared, std::span<const tenon_tensor> inputs,
                              std::span<const tenon_tensor> outputs, const tenon_tensor* workspace) {
  Binding out;
  const Program& program = prepared->program();
  tenon_bind_args args{};
  args.struct_size = sizeof(args);
  args.program = program.handle();
  args.prepared = prepared->handle();
  args.inputs = inputs.data();
  args.outputs = outputs.data();
  args.input_count = static_cast<uint32_t>(inputs.size());
  args.output_count = static_cast<uint32_t>(outputs.size());
  args.workspace = workspace;
  tenon_error error = make_error();
  const tenon_status status = program.api().bind(&args, &out.handle_, &error);
  if (status != TENON_OK) {
    out.handle_ = nullptr;
    return program.status(status, error);
  }
  out.prepared_ = std::move(prepared);
  return out;
}

void Binding::reset() {
  if (handle_ != nullptr) prepared_->program().api().unbind(std::exchange(handle_, nullptr));
  prepared_.reset();
}

void Binding::swap(Binding& other) noexcept {
  std::swap(prepared_, other.prepared_);
  std::swap(handle_, other.handle_);
}

}  // namespace tenon::runtime
