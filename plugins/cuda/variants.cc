#include "variants.h"

#include <algorithm>
#include <bit>

namespace tenon::cuda {
namespace {

constexpr size_t kMostOfRow = size_t{1} << 16;  // a thread on its own does not take long with it

}  // namespace

std::optional<Form> forced_form(std::string_view variants) {
  if (variants == "thread") return Form::kThread;
  if (variants == "block") return Form::kBlock;
  return std::nullopt;
}

Form form_by_rule(const Rows& rows) {
  // Threads that read rows along memory wait for each other's lines of the cache, unless the rows lie across.
  if (rows.across) return rows.length >= 1024 && rows.count < 2048 ? Form::kBlock : Form::kThread;
  return rows.length >= 64 ? Form::kBlock : Form::kThread;
}

Rows probe_of(const Rows& rows) {
  const size_t length = std::bit_floor(std::min(rows.length, kMostOfRow));
  return {std::bit_floor(std::min(rows.count, kMostOfProbe / length)), length, rows.across};
}

}  // namespace tenon::cuda
