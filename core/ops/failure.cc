#include "core/ops/failure.h"

namespace tenon::ops {

Status status_of(const std::exception& error) {
  if (const auto* carried = dynamic_cast<const StatusException*>(&error)) return carried->status();
  std::string_view text = error.what();
  for (const std::string_view prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
  }
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return invalid_model(text);
}

}  // namespace tenon::ops
