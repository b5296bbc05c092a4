// The reader of ONNX models on bytes that anybody may have made. What it accepts must be sound, can be saved,
// and is then accepted again as the same graph.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/onnx/onnx.h"
#include "tests/fuzz/wire_mutator.h"

namespace {

using tenon::Status;

/// Small limits, so that time goes into many inputs instead of large ones.
tenon::onnx::Limits limits() {
  tenon::onnx::Limits limits;
  limits.model_bytes = 1 << 20;
  limits.nodes = 500;
  limits.graph_depth = 6;
  limits.fold_bytes = 1 << 20;
  return limits;
}

void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

void check(const char* what, const Status& status) {
  if (!status.ok()) fail(what, status.to_string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto model = tenon::onnx::load_bytes(data, size, {}, limits());
  if (!model.ok()) {
    if (model.error().kind() == tenon::ErrorKind::kInternal)
      fail("internal error", model.error().to_string());
    if (model.error().to_string().size() > 5000) fail("long message", model.error().to_string());
    return 0;
  }
  check("an accepted model is not sound", verify(model->graph));
  auto bytes = tenon::onnx::save_bytes(*model);
  check("an accepted model cannot be saved", bytes.status());
  tenon::onnx::Limits room = limits();
  room.model_bytes *= 64;
  room.nodes *= 64;
  auto again = tenon::onnx::load_bytes(bytes->data(), bytes->size(), {}, room);
  check("a saved model is refused", again.status());
  std::string first = to_text(model->graph), second = to_text(again->graph);
  if (first != second) fail("a saved model is another one", first + "\n" + second);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return tenon::fuzz::mutate_message(data, size, max_size, seed);
}
