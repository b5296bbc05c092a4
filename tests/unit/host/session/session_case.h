// Sessions over models in memory, with the providers that are built beside the tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "host/session/session.h"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {

using runtime::ValueRef;

/// A config that looks only at `folder` and uses the providers named.
inline config::Config config_for(const std::vector<std::string>& folders,
                                 const std::vector<std::string>& order) {
  const auto list = [](const std::vector<std::string>& items) {
    std::string text = "[";
    for (const std::string& item : items) text += (text.size() > 1 ? ", \"" : "\"") + item + "\"";
    return text + "]";
  };
  config::Config config;
  EXPECT_TRUE(config.set("discovery.search", list(folders)).ok());
  EXPECT_TRUE(config.set("discovery.scan", "\"off\"").ok());
  EXPECT_TRUE(config.set("select.order", list(order)).ok());
  return config;
}
/// Sets "key=value".
inline Status assign(config::Config& config, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  return config.set(assignment.substr(0, equals), assignment.substr(equals + 1));
}
inline config::Config cpu_config() { return config_for({providers_dir()}, {"cpu"}); }

inline Result<std::shared_ptr<session::Session>> try_session(const std::string& bytes,
                                                             const config::Config& config = cpu_config()) {
  session::ModelSource source;
  source.data = bytes.data();
  source.size = bytes.size();
  return session::Session::create(source, config);
}

inline std::shared_ptr<session::Session> make_session(const std::string& bytes,
                                                      const config::Config& config = cpu_config()) {
  auto session = try_session(bytes, config);
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  return session.ok() ? *session : nullptr;
}

inline ValueRef tensor(uint32_t dtype, const std::vector<int64_t>& dims, const void* data) {
  ValueRef value = *runtime::make_tensor(dtype, dims);
  if (value->tensor.byte_size != 0) std::memcpy(value->tensor.data, data, value->tensor.byte_size);
  return value;
}
inline ValueRef f32(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return tensor(TENON_FLOAT32, dims, values.data());
}
inline ValueRef i64(const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  return tensor(TENON_INT64, dims, values.data());
}
inline ValueRef boolean(bool value) {
  const uint8_t byte = value ? 1 : 0;
  return tensor(TENON_BOOL, {}, &byte);
}

template <class T>
std::vector<T> elements(const ValueRef& value) {
  const tenon_tensor& t = value->tensor;
  const T* data = static_cast<const T*>(t.data);
  return {data, data + t.byte_size / sizeof(T)};
}
inline std::vector<float> floats(const ValueRef& value) { return elements<float>(value); }
inline std::vector<int64_t> dims(const ValueRef& value) {
  return {value->tensor.dims, value->tensor.dims + value->tensor.rank};
}

/// Runs and gives all outputs; a failure is a failed test.
inline std::vector<ValueRef> run(session::Session& session, const std::vector<session::NamedValue>& inputs,
                                 const session::RunOptions& options = {}) {
  std::vector<ValueRef> outputs(session.shown_outputs().size());
  const Status status = session.run(options, inputs, {}, outputs);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return outputs;
}

}  // namespace tenon::test
