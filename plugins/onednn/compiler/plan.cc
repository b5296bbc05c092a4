#include "compiler/plan.h"

#include "openmp/threads.h"

namespace tenon::onednn {
namespace {

bool cancelled(const tenon_run_args& args) {
  return args.cancel != nullptr && __atomic_load_n(args.cancel, __ATOMIC_RELAXED) != 0;
}

}  // namespace

Execution::Execution(const Engine& engine, std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), places_(plan_->buffers.size()), addresses_(plan_->buffers.size(), nullptr) {
  steps_.reserve(plan_->steps.size());
  for (uint32_t s = 0; s < plan_->steps.size(); ++s) {
    const Step& step = plan_->steps[s];
    BoundStep& bound = steps_.emplace_back();
    std::vector<int> roles;
    for (uint32_t a = 0; a < step.arguments.size(); ++a) {
      roles.push_back(step.arguments[a].role);
      places_[step.arguments[a].buffer].push_back({s, a});
    }
    if (step.primitive) {
      bound.call.emplace_back(engine, step.primitive, roles);
    } else {
      if (step.local) bound.local = &step.local;
      if (step.probe) bound.probe = &step.probe;
      bound.addresses.resize(step.arguments.size());
    }
  }
  for (uint32_t b = 0; b < plan_->buffers.size(); ++b) {
    const Buffer& buffer = plan_->buffers[b];
    if (buffer.home == Home::kConstant) set(b, const_cast<void*>(buffer.constant));
  }
}

void Execution::set(uint32_t buffer, void* address) {
  if (addresses_[buffer] == address) return;
  addresses_[buffer] = address;
  for (const Place& place : places_[buffer]) {
    BoundStep& step = steps_[place.step];
    if (step.call.empty()) {
      step.addresses[place.argument] = address;
    } else {
      step.call.front().set(place.argument, address);
    }
  }
}

void Execution::bind(const tenon_tensor* inputs, const tenon_tensor* outputs, void* workspace) {
  for (uint32_t b = 0; b < plan_->buffers.size(); ++b) {
    const Buffer& buffer = plan_->buffers[b];
    if (buffer.home == Home::kInput) set(b, inputs[buffer.index].data);
    if (buffer.home == Home::kOutput) set(b, outputs[buffer.index].data);
    if (buffer.home == Home::kWorkspace && buffer.piece.last >= buffer.piece.first)
      set(b, static_cast<std::byte*>(workspace) + buffer.piece.offset);
    if (buffer.home == Home::kPart)  // a part's address follows from its whole, which comes first
      set(b, static_cast<std::byte*>(addresses_[buffer.whole]) + buffer.offset);
  }
}

bool Execution::run(const tenon_run_args& args) {
  const Team team(args.run, plan_->threads);
  for (const BoundStep& step : steps_) {
    if (cancelled(args)) [[unlikely]]
      ep::fail(TENON_CANCELLED, "cancelled");
    if (!step.call.empty()) {
      step.call.front().run();
    } else if (step.local != nullptr) {
      (*step.local)(step.addresses);
    } else if (!(*step.probe)(step.addresses)) {
      return false;
    }
  }
  return true;
}

void Binding::run(const tenon_run_args& args) {
  if (execution->run(args)) [[likely]]
    return;
  if (unchecked == nullptr) unchecked = prepared.make_unchecked();
  void* workspace = nullptr;
  if (const uint64_t bytes = unchecked->plan().workspace_bytes; bytes != 0) {
    workspace = ep::host().scratch(args.run, bytes);
    ep::require(workspace != nullptr, TENON_RESOURCE_EXHAUSTED, "cannot get ", bytes,
                " bytes of scratch memory for numbers that are very large, infinite or NaN");
  }
  unchecked->bind(args.inputs, args.outputs, workspace);
  unchecked->run(args);
}

Prepared::Prepared(const Engine& engine, std::shared_ptr<const Plan> plan, PlanMaker make_unchecked)
    : engine_(engine), plan_(std::move(plan)), unchecked_maker_(std::move(make_unchecked)) {}

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
  return std::make_unique<Execution>(engine_, plan_);
}

void Prepared::give_back(std::unique_ptr<Execution> execution) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(execution));
}

}  // namespace tenon::onednn
