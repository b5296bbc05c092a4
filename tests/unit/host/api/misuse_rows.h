// The rows of misuse_test.cc: for each function of tenon.h the arguments that are wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::test::misuse {

/// Things that are all right, to be given beside the one that is not.
struct Good {
  Good();

  Config config;
  std::string bytes;
  std::optional<Session> session;
  std::optional<Slots> slots;
  std::optional<Pending> submitted;
  Value x = Value::tensor<float>({2}, {1, -1});
  tenon_named_value named{};
  tenon_str name = as_str("y");
  tenon_value* element = nullptr;
  tenon_tensor tensor{};
  tenon_io_info info{};
  int64_t dims[1] = {2};
  int64_t offsets[3] = {0, 1, 2};
  // Where results would go.
  tenon_value* value = nullptr;
  tenon_text* text = nullptr;
  tenon_session* made = nullptr;
  tenon_config* made_config = nullptr;
  void* data = nullptr;
  tenon_pending* pending = nullptr;
};

struct Row {
  const char* function;
  const char* what;
  std::function<tenon_status(const tenon_api&, Good&, tenon_error*)> call;
};

const std::vector<Row>& rows();

}  // namespace tenon::test::misuse
