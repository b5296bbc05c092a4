#include "host/services/trace.h"

#include <algorithm>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <thread>

#include "core/base/stop.h"
#include "host/base/json.h"

namespace tenon::runtime {
namespace {

/// A metadata event: the name of a track, or of a thread in it.
Json name_of(std::string_view kind, int pid, uint64_t tid, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

constexpr uint64_t kThreads = 1'000'000;

/// Streams of devices are numbered beyond the threads.
std::map<std::string, uint64_t> number_streams(const std::vector<Trace::Event>& events) {
  std::map<std::string, uint64_t> streams;
  for (const Trace::Event& event : events) {
    if (!event.track.empty()) streams.emplace(event.track, kThreads + streams.size());
  }
  return streams;
}

/// The tracks, numbered from 1 by name. The host's name is empty, so it comes first.
std::map<std::string, int> number_tracks(const std::vector<Trace::Event>& events) {
  std::map<std::string, int> tracks;
  for (const Trace::Event& event : events) tracks.emplace(event.provider, 0);
  int next = 1;
  for (auto& track : tracks) track.second = next++;
  return tracks;
}

}  // namespace

void Trace::add(Event event) {
  event.thread = std::hash<std::thread::id>()(std::this_thread::get_id()) % kThreads;
  std::shared_ptr<Trace> other;
  {
    const std::lock_guard lock(mutex_);
    other = other_;
    keep(event);
  }
  if (other != nullptr) other->add(std::move(event));
}

void Trace::keep(const Event& event) {
  try {
    if (events_.size() < kMaxEvents) {
      events_.push_back(event);
      return;
    }
  } catch (const std::bad_alloc&) {  // no exception may leave: the destructor of a span calls this
  }
  ++dropped_;
}

void Trace::also(std::shared_ptr<Trace> other) {
  const std::lock_guard lock(mutex_);
  other_ = std::move(other);
}

std::vector<Trace::Event> Trace::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

std::string Trace::to_json() const {
  const std::lock_guard lock(mutex_);
  int64_t origin = events_.empty() ? 0 : events_.front().begin_ns;
  for (const Event& event : events_) origin = std::min(origin, event.begin_ns);
  const std::map<std::string, int> tracks = number_tracks(events_);
  Json list = Json::array();
  for (const auto& track : tracks) {
    list.push_back(name_of("process_name", track.second, 0, track.first.empty() ? "host" : track.first));
  }
  const std::map<std::string, uint64_t> streams = number_streams(events_);
  std::set<std::pair<int, uint64_t>> named;
  for (const Event& event : events_) {
    const int pid = tracks.at(event.provider);
    const uint64_t tid = event.track.empty() ? event.thread : streams.at(event.track);
    if (named.emplace(pid, tid).second) {
      list.push_back(name_of("thread_name", pid, tid,
                             event.track.empty() ? str_cat("thread ", event.thread) : event.track));
    }
    Json entry = {{"name", event.name},
                  {"cat", event.category},
                  {"ph", "X"},
                  {"pid", pid},
                  {"tid", tid},
                  {"ts", static_cast<double>(event.begin_ns - origin) / 1000},
                  {"dur", static_cast<double>(event.duration_ns) / 1000}};
    Json args = Json::object();
    if (!event.provider.empty()) args["provider"] = event.provider;
    if (event.bytes != 0) args["bytes"] = event.bytes;
    if (!event.step.empty()) args["step"] = event.step;
    entry["args"] = std::move(args);
    list.push_back(std::move(entry));
  }
  Json document = {{"traceEvents", std::move(list)}, {"displayTimeUnit", "ns"}};
  if (dropped_ != 0) document["otherData"] = {{"dropped_events", dropped_}};
  return document.dump();
}

TraceSpan::TraceSpan(Trace* trace, std::string_view name, std::string_view category,
                     std::string_view provider)
    : trace_(trace) {
  if (trace_ == nullptr) return;
  event_.name = name;
  event_.category = category;
  event_.provider = provider;
  event_.begin_ns = steady_now_ns();
}

TraceSpan::~TraceSpan() {
  if (trace_ == nullptr) return;
  event_.duration_ns = steady_now_ns() - event_.begin_ns;
  trace_->add(std::move(event_));
}

}  // namespace tenon::runtime
