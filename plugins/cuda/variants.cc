#include "variants.h"

namespace tenon::cuda {

std::optional<Form> forced_form(std::string_view variants) {
  if (variants == "thread") return Form::kThread;
  if (variants == "block") return Form::kBlock;
  return std::nullopt;
}

Form form_by_rule(const ep::Rows& rows) {
  // Threads that read rows along memory wait for each other's lines of the cache, unless the rows lie across.
  if (rows.across) return rows.length >= 1024 && rows.count < 2048 ? Form::kBlock : Form::kThread;
  return rows.length >= 64 ? Form::kBlock : Form::kThread;
}

}  // namespace tenon::cuda
