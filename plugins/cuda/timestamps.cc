#include "timestamps.h"

#include <algorithm>

namespace tenon::cuda {
namespace {

constexpr int kRounds = 5;
constexpr size_t kMostSpare = 1024;

/// Nanoseconds from one event to a later one.
int64_t between(const EventHandle& begin, const EventHandle& end) {
  float ms = 0;
  check(driver().cuEventElapsedTime(&ms, begin.get(), end.get()), "cuEventElapsedTime");
  return static_cast<int64_t>(static_cast<double>(ms) * 1e6);
}

}  // namespace

EventHandle Timestamps::take_event() {
  if (!spare_.empty()) {
    EventHandle out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }
  CUevent out = nullptr;
  check(driver().cuEventCreate(&out, CU_EVENT_DEFAULT), "cuEventCreate");
  return EventHandle(out);
}

void Timestamps::begin(std::string name, uint64_t work_id) {
  Piece piece{std::move(name), work_id, take_event(), take_event(), false};
  check(driver().cuEventRecord(piece.begin.get(), stream_), "cuEventRecord");
  pieces_.push_back(std::move(piece));
}

void Timestamps::end() {
  check(driver().cuEventRecord(pieces_.back().end.get(), stream_), "cuEventRecord");
  pieces_.back().is_whole = true;
}

Timestamps::Reference Timestamps::make_reference() {
  // The event is enqueued after the host looked at its clock, and done before the host looks again. The round that leaves the
  // least doubt counts.
  Reference out;
  int64_t least = INT64_MAX;
  for (int i = 0; i < kRounds; ++i) {
    EventHandle event = take_event();
    const auto before = static_cast<int64_t>(ep::now_ns());
    check(driver().cuEventRecord(event.get(), stream_), "cuEventRecord");
    check(driver().cuEventSynchronize(event.get()), "cuEventSynchronize");
    const auto after = static_cast<int64_t>(ep::now_ns());
    if (after - before < least) {
      least = after - before;
      std::swap(out.event, event);
      out.ns = before + (after - before) / 2;
    }
    if (event) spare_.push_back(std::move(event));
  }
  return out;
}

void Timestamps::give(const ep::TimeSink& sink) {
  if (pieces_.empty()) return;
  Reference reference = make_reference();  // after all pieces: a stream has one order
  for (; !pieces_.empty(); pieces_.pop_front()) {
    Piece& piece = pieces_.front();
    if (!piece.is_whole) continue;  // it was not enqueued
    const int64_t begin = reference.ns - between(piece.begin, reference.event);
    const int64_t end = std::max(begin, reference.ns - between(piece.end, reference.event));
    sink.add({piece.name, piece.work_id, static_cast<uint64_t>(begin), static_cast<uint64_t>(end)});
    if (spare_.size() < kMostSpare) {
      spare_.push_back(std::move(piece.begin));
      spare_.push_back(std::move(piece.end));
    }
  }
  spare_.push_back(std::move(reference.event));
}

}  // namespace tenon::cuda
