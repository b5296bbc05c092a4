// A library of somebody's that uses Tenon, to be opened and closed.
#include <memory>

#include "tenon/tenon.hpp"

namespace {
std::unique_ptr<tenon::Session> g_kept;
}

extern "C" __attribute__((visibility("default"))) int wrapper_use(const char* model, const char* provider,
                                                                  int keep) {
  try {
    tenon::Config config;
    config.set("select.order", std::string("[\"") + provider + "\"]").set("threads.count", "2");
    auto session = std::make_unique<tenon::Session>(model, config);
    std::vector<tenon::NamedValue> inputs;
    for (const tenon_io_info& info : session->inputs()) {
      std::vector<int64_t> dims;
      for (int32_t d = 0; d < info.rank; ++d) dims.push_back(info.dims[d] < 0 ? 1 : info.dims[d]);
      inputs.push_back({tenon::as_string(info.name), tenon::Value::empty_tensor(info.dtype, dims)});
    }
    session->run(inputs);
    if (keep != 0) g_kept = std::move(session);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}
