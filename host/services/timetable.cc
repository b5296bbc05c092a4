#include "host/services/timetable.h"

#include <charconv>

namespace tenon::runtime {
namespace {

constexpr std::string_view kForm = "tenon times 1\n";  // then a line for each: name, space, picoseconds

}  // namespace

Timetable Timetable::read(BlobCache* cache, std::string_view key) {
  Timetable out;
  if (cache == nullptr) return out;
  const Result<std::string_view> blob = cache->get(key);
  if (!blob.ok()) return out;
  std::string_view text = *blob;
  if (text.starts_with(kForm)) {
    text.remove_prefix(kForm.size());
    while (!text.empty()) {
      const size_t end = text.find('\n'), space = text.find(' ');
      int64_t ps = 0;
      if (end == text.npos || space >= end ||
          std::from_chars(text.data() + space + 1, text.data() + end, ps).ptr != text.data() + end ||
          ps < 1) {
        out.times_.clear();  // another version of the form
        break;
      }
      out.set(text.substr(0, space), ps);
      text.remove_prefix(end + 1);
    }
  }
  cache->done(*blob);
  return out;
}

const int64_t* Timetable::find(std::string_view name) const {
  const auto at = times_.find(name);
  return at == times_.end() ? nullptr : &at->second;
}

void Timetable::set(std::string_view name, int64_t ps) { times_.insert_or_assign(std::string(name), ps); }

Status Timetable::store(BlobCache& cache, std::string_view key, const BlobLimits& limits) const {
  Timetable all = read(&cache, key);
  for (const auto& [name, ps] : times_) all.set(name, ps);
  std::string text(kForm);
  for (const auto& [name, ps] : all.times_) text += str_cat(name, " ", ps, "\n");
  return cache.put(key, text, limits);
}

}  // namespace tenon::runtime
