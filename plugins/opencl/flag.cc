#include "flag.h"

#include <algorithm>

namespace tenon::opencl {
namespace {

/// Adds `object` if it is not in the list, and removes entries whose objects are gone.
template <class T>
void add_once(std::vector<std::weak_ptr<T>>& list, const std::shared_ptr<T>& object) {
  const auto is_same = [&](const std::weak_ptr<T>& w) {
    return !w.owner_before(object) && !object.owner_before(w);
  };
  if (std::any_of(list.begin(), list.end(), is_same)) return;
  list.erase(std::remove_if(list.begin(), list.end(), [](const auto& w) { return w.expired(); }), list.end());
  list.push_back(object);
}

}  // namespace

IndexFlag::IndexFlag(const Instance& instance, std::string place)
    : instance_(instance), place_(std::move(place)) {
  const cl_mem_flags where = instance.uses_host_memory ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
  buffer_ = instance.device.make_buffer(sizeof(Words), CL_MEM_READ_WRITE | where, &words_);
}

void IndexFlag::enqueue(cl_command_queue queue) {
  if (instance_.uses_host_memory) return;
  check(clEnqueueReadBuffer(queue, buffer_.get(), CL_FALSE, 0, sizeof(Words), &words_, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

std::string IndexFlag::take() {
  // The device writes the flag, which the compiler cannot see.
  if (__atomic_load_n(&words_.is_set, __ATOMIC_ACQUIRE) == 0) return {};
  const Words found = words_;
  words_ = Words();
  if (!instance_.uses_host_memory)
    check(clEnqueueWriteBuffer(instance_.device.queue(), buffer_.get(), CL_TRUE, 0, sizeof(Words), &words_, 0,
                               nullptr, nullptr),
          "clEnqueueWriteBuffer");
  const int64_t index = static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(found.high)) << 32 |
                                             static_cast<uint32_t>(found.low));
  return ep::cat("index ", index, " is out of range for an axis of ", found.size);
}

void FlagList::add(const std::shared_ptr<IndexFlag>& flag) {
  const std::lock_guard lock(mutex_);
  add_once(flags_, flag);
}

void FlagList::add(const std::shared_ptr<FlagList>& other) {
  if (other == nullptr || other.get() == this) return;
  const std::lock_guard lock(mutex_);
  add_once(others_, other);
}

void FlagList::check() {
  if (const std::string text = take(); !text.empty()) ep::fail(TENON_OUT_OF_RANGE, text);
}

std::string FlagList::take() {
  std::string first;
  std::vector<std::weak_ptr<FlagList>> others;
  {
    const std::lock_guard lock(mutex_);
    for (const std::weak_ptr<IndexFlag>& weak : flags_) {
      const std::shared_ptr<IndexFlag> flag = weak.lock();
      const std::string text = flag == nullptr ? std::string() : flag->take();
      if (first.empty() && !text.empty()) first = ep::cat(flag->place(), ": ", text);
    }
    others.swap(others_);  // they are done; if the streams meet again, they are added again
  }
  for (const std::weak_ptr<FlagList>& weak : others) {
    const std::shared_ptr<FlagList> other = weak.lock();
    const std::string text = other == nullptr ? std::string() : other->take();
    if (first.empty()) first = text;
  }
  return first;
}

}  // namespace tenon::opencl
