#include "host/base/log.h"
#include "host/api/border.h"
#include "host/api/functions.h"

namespace tenon::c_api {

void log_set(tenon_log_fn fn, void* context) {
  if (fn == nullptr) return set_log_sink({});
  set_log_sink([fn, context](const LogLine& line) {
    fn(context, line.level, to_str(line.provider), to_str(line.code), to_str(line.message));
  });
}

}  // namespace tenon::c_api
