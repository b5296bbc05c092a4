// Rows of fields_test.cc for the structs of an application's operators.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace tenon::test {

/// "struct.field" and what a value of it does.
const std::map<std::string, std::function<void()>>& operator_field_rows();

}  // namespace tenon::test
