#include "host/runtime/trace.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

namespace tenon::runtime {

void Trace::add(Event event) {
  event.thread = std::hash<std::thread::id>()(std::this_thread::get_id()) % 1'000'000;
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<Trace::Event> Trace::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

std::string Trace::to_json() const {
  const std::lock_guard lock(mutex_);
  int64_t origin = events_.empty() ? 0 : events_.front().begin_ns;
  for (const Event& event : events_) origin = std::min(origin, event.begin_ns);
  nlohmann::json list = nlohmann::json::array();
  for (const Event& event : events_) {
    nlohmann::json entry = {{"name", event.name},
                            {"cat", event.category},
                            {"ph", "X"},
                            {"pid", 1},
                            {"tid", event.thread},
                            {"ts", static_cast<double>(event.begin_ns - origin) / 1000},
                            {"dur", static_cast<double>(event.duration_ns) / 1000}};
    nlohmann::json args = nlohmann::json::object();
    if (!event.provider.empty()) args["provider"] = event.provider;
    if (event.bytes != 0) args["bytes"] = event.bytes;
    entry["args"] = std::move(args);
    list.push_back(std::move(entry));
  }
  const nlohmann::json document = {{"traceEvents", std::move(list)}, {"displayTimeUnit", "ns"}};
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tenon::runtime
