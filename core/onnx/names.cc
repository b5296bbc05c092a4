#include "core/onnx/names.h"

#include "core/base/quote.h"
#include "core/base/utf8.h"

namespace tenon::onnx {

Status check_name(std::string_view what, std::string_view name) {
  for (size_t at = 0; at < name.size();) {
    if (name[at] == '\0') return invalid_model("the name ", quote(name), " of a ", what, " has a zero byte");
    size_t length = utf8_length(name.substr(at));
    if (length == 0) return invalid_model("the name ", quote(name), " of a ", what, " is not UTF-8");
    at += length;
  }
  return ok_status();
}

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

std::string_view shown_domain(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

}  // namespace tenon::onnx
