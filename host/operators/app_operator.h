// An operator that an application registered: its rules for core/ops, and its functions.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/ops/registered.h"
#include "tenon/tenon.h"

namespace tenon::operators {

struct AppOperator : ops::RegisteredOperator {
  AppOperator() = default;
  AppOperator(const AppOperator&) = delete;
  AppOperator& operator=(const AppOperator&) = delete;
  ~AppOperator();

  bool keeps_inputs = false;
  void* context = nullptr;
  decltype(tenon_operator::create) create = nullptr;
  decltype(tenon_operator::destroy) destroy = nullptr;
  decltype(tenon_operator::run) run = nullptr;
  tenon_free_fn free_fn = nullptr;
};

/// Without free_fn, which is to be set when the operator is added to a set. INVALID_INPUT names what is wrong.
Result<std::shared_ptr<AppOperator>> make_operator(const tenon_operator& given);

}  // namespace tenon::operators
