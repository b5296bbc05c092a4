#include "host/exec/frame_pool.h"

#include <new>

#include "host/exec/planner.h"

namespace tenon::runtime {
namespace {

/// The types to plan with: those of the arguments for tensors, the graph's own for other kinds of values.
std::vector<PlanInput> inputs_of(const Executable& executable, std::span<const Argument> arguments) {
  std::vector<PlanInput> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const tenon_tensor& tensor = arguments[i].tensor;
    if (tensor.kind == TENON_KIND_TENSOR) {
      inputs.push_back({ir::Type::tensor(static_cast<ir::ElementType>(tensor.dtype),
                                         ir::Shape::of({tensor.dims, tensor.dims + tensor.rank})),
                        arguments[i].domain()});
    } else {
      inputs.push_back({executable.graph().value(executable.inputs()[i]).type, nullptr});
    }
  }
  return inputs;
}

/// Calls `take` with each number of the signature.
template <class Take>
void for_each_word(std::span<const Argument> arguments, std::span<const uint32_t> kept, Take&& take) {
  for (const Argument& argument : arguments) {
    const tenon_tensor& tensor = argument.tensor;
    if (tensor.kind != TENON_KIND_TENSOR) {
      take(-1);  // no number of an element type
      take(tensor.kind);
      continue;
    }
    const MemoryDomain* domain = argument.domain();
    const uint64_t place = domain == nullptr ? 0 : domain->number;
    take(static_cast<int64_t>(tensor.dtype | place << 32));
    take(tensor.rank);
    for (uint32_t d = 0; d < tensor.rank; ++d) take(tensor.dims[d]);
  }
  for (const uint32_t output : kept) take(output);
}

/// As signature_of(arguments, kept) == signature, without memory.
bool has_signature(std::span<const Argument> arguments, std::span<const uint32_t> kept,
                   const plan::Signature& signature) {
  const std::vector<int64_t>& words = signature.words();
  size_t at = 0;
  bool same = true;
  for_each_word(arguments, kept, [&](int64_t word) {
    same = same && at < words.size() && words[at] == word;
    ++at;
  });
  return same && at == words.size();
}

}  // namespace

plan::Signature signature_of(std::span<const Argument> arguments, std::span<const uint32_t> kept) {
  plan::Signature signature;
  size_t words = kept.size();
  for (const Argument& argument : arguments) words += 2 + argument.tensor.rank;
  signature.reserve(words);
  for_each_word(arguments, kept, [&](int64_t word) { signature.add_word(word); });
  return signature;
}

FramePool::FramePool(size_t keep_plans, uint64_t keep_bytes)
    : entries_(keep_plans, keep_bytes), registration_(*this) {}

FramePool::~FramePool() = default;

Result<std::unique_ptr<Frame>> FramePool::take(const Executable& executable,
                                               std::span<const Argument> arguments,
                                               std::span<const uint32_t> kept) {
  std::unique_ptr<Frame> frame = hot_.take();
  if (frame != nullptr && has_signature(arguments, kept, frame->plan().signature)) return frame;
  if (frame != nullptr) put_idle(std::move(frame));
  const plan::Signature signature = signature_of(arguments, kept);
  frame = take_idle(signature);
  if (frame != nullptr) return frame;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan, find_plan(executable, arguments, kept, signature));
  Result<std::unique_ptr<Frame>> made = Frame::make(executable, plan);
  if (made.ok() || made.status().kind() != ErrorKind::kLimitExceeded || !drop(nullptr)) return made;
  return Frame::make(executable, plan);
}

bool FramePool::drop_idle(const Device& device) { return drop(&device); }

bool FramePool::drop(const Device* device) {
  const auto wanted = [&](const std::unique_ptr<Frame>& frame) {
    return device == nullptr || frame->uses(*device);
  };
  bool any = false;
  for (size_t place = 0; place < PerThreadCache<Frame>::kPlaces; ++place) {
    std::unique_ptr<Frame> frame = hot_.take_from(place);
    if (frame == nullptr) continue;
    if (wanted(frame)) {
      any = true;
    } else if (frame = hot_.put_back(place, std::move(frame)); frame != nullptr) {
      put_idle(std::move(frame));
    }
  }
  for (;;) {
    std::vector<std::unique_ptr<Frame>>
        dropped;  // declared before the lock, so that frames are freed without it
    const std::lock_guard lock(mutex_);
    entries_.for_each([&](const plan::Signature&, Entry& entry) {
      // All frames of a plan use the same devices.
      if (dropped.empty() && !entry.idle.empty() && wanted(entry.idle.front())) dropped.swap(entry.idle);
    });
    if (dropped.empty()) return any;
    any = true;
  }
}

void FramePool::give_back(std::unique_ptr<Frame> frame) {
  if (frame->is_outdated()) return forget(*frame);
  frame = hot_.put(std::move(frame));
  if (frame != nullptr) put_idle(std::move(frame));
}

void FramePool::forget(const Frame& frame) {
  std::shared_ptr<Entry> entry;  // declared before the lock, so that it is freed without it
  const std::lock_guard lock(mutex_);
  entry = entries_.find(frame.plan().signature);
  if (entry != nullptr && entry->plan == frame.shared_plan()) entries_.erase(frame.plan().signature);
}

Result<std::shared_ptr<const Plan>> FramePool::find_plan(const Executable& executable,
                                                         std::span<const Argument> arguments,
                                                         std::span<const uint32_t> kept,
                                                         const plan::Signature& signature) {
  {
    const std::lock_guard lock(mutex_);
    if (const std::shared_ptr<Entry> entry = entries_.find(signature)) return entry->plan;
  }
  // The plan is made without the lock, so that other signatures can run meanwhile. Two threads may make the same
  // plan; the later one stays.
  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan,
                   make_plan(executable, inputs_of(executable, arguments), kept, signature));
  auto entry = std::make_shared<Entry>();
  entry->plan = plan;
  const std::lock_guard lock(mutex_);
  entries_.insert(signature, std::move(entry), plan->slab_bytes());
  return plan;
}

std::unique_ptr<Frame> FramePool::take_idle(const plan::Signature& signature) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Entry> entry = entries_.find(signature);
  if (entry == nullptr || entry->idle.empty()) return nullptr;
  std::unique_ptr<Frame> frame = std::move(entry->idle.back());
  entry->idle.pop_back();
  return frame;
}

void FramePool::put_idle(std::unique_ptr<Frame> frame) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Entry> entry = entries_.find(frame->plan().signature);
  const bool kept = entry != nullptr && entry->plan == frame->shared_plan() && entry->idle.size() < kMaxIdle;
  if (!kept) return;
  try {
    entry->idle.push_back(std::move(frame));
  } catch (const std::bad_alloc&) {  // the frame is freed; the next Run makes another
  }
}

void FramePool::for_each_plan(const std::function<void(const Plan&)>& visit) const {
  const std::lock_guard lock(mutex_);
  entries_.for_each([&](const plan::Signature&, const Entry& entry) { visit(*entry.plan); });
}

}  // namespace tenon::runtime
