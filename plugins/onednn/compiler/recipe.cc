#include "compiler/recipe.h"

#include "openmp/threads.h"
#include "tenon/ep/trace.hpp"

namespace tenon::onednn {
namespace {

bool cancelled(const tenon_run_args& args) {
  return args.cancel != nullptr && __atomic_load_n(args.cancel, __ATOMIC_RELAXED) != 0;
}

bool is_traced(tenon_run* run) {
  const auto trace = ep::host().trace;
  return trace != nullptr && trace(run, {"", 0}, 0, 0) != 0;
}

}  // namespace

Execution::Execution(const Engine& engine, std::shared_ptr<const Recipe> recipe)
    : recipe_(std::move(recipe)),
      places_(recipe_->buffers.size()),
      addresses_(recipe_->buffers.size(), nullptr) {
  tasks_.reserve(recipe_->tasks.size());
  for (uint32_t s = 0; s < recipe_->tasks.size(); ++s) {
    const Task& task = recipe_->tasks[s];
    BoundTask& bound = tasks_.emplace_back();
    bound.name = task.name;
    std::vector<int> roles;
    for (uint32_t a = 0; a < task.arguments.size(); ++a) {
      roles.push_back(task.arguments[a].role);
      places_[task.arguments[a].buffer].push_back({s, a});
    }
    if (task.primitive) {
      bound.call.emplace_back(engine, task.primitive, roles);
    } else {
      if (task.local) bound.local = &task.local;
      if (task.probe) bound.probe = &task.probe;
      bound.addresses.resize(task.arguments.size());
    }
  }
  for (uint32_t b = 0; b < recipe_->buffers.size(); ++b) {
    const Buffer& buffer = recipe_->buffers[b];
    if (buffer.home == Home::kConstant) set(b, const_cast<void*>(buffer.constant));
  }
}

void Execution::set(uint32_t buffer, void* address) {
  if (addresses_[buffer] == address) return;
  addresses_[buffer] = address;
  for (const Place& place : places_[buffer]) {
    BoundTask& task = tasks_[place.task];
    if (task.call.empty()) {
      task.addresses[place.argument] = address;
    } else {
      task.call.front().set(place.argument, address);
    }
  }
}

void Execution::bind(const tenon_tensor* inputs, const tenon_tensor* outputs, void* workspace) {
  for (uint32_t b = 0; b < recipe_->buffers.size(); ++b) {
    const Buffer& buffer = recipe_->buffers[b];
    if (buffer.home == Home::kInput) set(b, inputs[buffer.index].data);
    if (buffer.home == Home::kOutput) set(b, outputs[buffer.index].data);
    if (buffer.home == Home::kWorkspace && buffer.piece.last >= buffer.piece.first)
      set(b, static_cast<std::byte*>(workspace) + buffer.piece.offset);
    if (buffer.home == Home::kInside)  // its address follows from its whole's, which comes first
      set(b, static_cast<std::byte*>(addresses_[buffer.whole]) + buffer.offset);
  }
}

bool Execution::BoundTask::run() const {
  if (!call.empty()) {
    call.front().run();
    return true;
  }
  if (probe != nullptr) return (*probe)(addresses);
  (*local)(addresses);
  return true;
}

bool Execution::run(const tenon_run_args& args) {
  const Team team(args.run, recipe_->threads);
  const bool traced = is_traced(args.run);
  for (const BoundTask& task : tasks_) {
    if (cancelled(args)) [[unlikely]]
      ep::fail(TENON_CANCELLED, "cancelled");
    if (traced) [[unlikely]] {
      const ep::TraceSpan span(args.run, task.name);
      if (!task.run()) return false;
    } else if (!task.run()) {
      return false;
    }
  }
  return true;
}

Binding::Binding(const tenon_bind_args& args)
    : prepared_(*reinterpret_cast<Prepared*>(args.prepared)), execution_(prepared_.take()) {
  execution_->bind(args.inputs, args.outputs, args.workspace == nullptr ? nullptr : args.workspace->data);
}

void Binding::run(const tenon_run_args& args) {
  if (execution_->run(args)) [[likely]]
    return;
  if (unchecked_ == nullptr) unchecked_ = prepared_.make_unchecked();
  void* workspace = nullptr;
  if (const uint64_t bytes = unchecked_->recipe().workspace_bytes; bytes != 0) {
    workspace = ep::host().scratch(args.run, bytes);
    ep::require(workspace != nullptr, TENON_RESOURCE_EXHAUSTED, "cannot get ", bytes,
                " bytes of scratch memory for numbers that are very large, infinite or NaN");
  }
  unchecked_->bind(args.inputs, args.outputs, workspace);
  unchecked_->run(args);
}

Prepared::Prepared(const Engine& engine, std::shared_ptr<const Recipe> recipe, RecipeMaker make_unchecked)
    : engine_(engine), recipe_(std::move(recipe)), unchecked_maker_(std::move(make_unchecked)) {}

std::unique_ptr<Execution> Prepared::make_unchecked() {
  const std::lock_guard lock(mutex_);
  if (unchecked_ == nullptr) unchecked_ = unchecked_maker_();
  return std::make_unique<Execution>(engine_, unchecked_);
}

std::unique_ptr<Execution> Prepared::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Execution> out = std::move(free_.back());
      free_.pop_back();
      return out;
    }
  }
  return std::make_unique<Execution>(engine_, recipe_);
}

void Prepared::give_back(std::unique_ptr<Execution> execution) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(execution));
}

}  // namespace tenon::onednn
