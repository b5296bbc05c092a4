// Operators that an application registers, through the table of C.
#include <atomic>

#include "tests/unit/host/api/operators_case.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;

/// Counts what a C operator does.
struct Counts {
  std::atomic<int> created{0}, destroyed{0}, runs{0}, freed{0};
  bool create_fails = false;
};

tenon_operator counted(Counts* counts) {
  static const tenon_operator_attribute kAttributes[] = {{as_str("factor"), TENON_ATTR_FLOAT, 0}};
  tenon_operator op{};
  op.struct_size = sizeof(op);
  op.domain = as_str("com.acme");
  op.name = as_str("Scale");
  op.since_version = 1;
  op.min_inputs = op.max_inputs = op.min_outputs = op.max_outputs = 1;
  op.attribute_count = 1;
  op.attributes = kAttributes;
  op.context = counts;
  op.infer = [](void*, const tenon_operator_call* call, tenon_error* error) {
    const int64_t dims[] = {TENON_DIM_UNKNOWN, 2};
    const tenon_str names[] = {as_str("rows"), as_str("")};
    tenon_io_info type{};
    type.struct_size = sizeof(type);
    type.dtype = TENON_FLOAT32;
    type.rank = 2;
    type.dims = dims;
    type.dim_names = names;
    return api().call_set_output(call, 0, &type, error);
  };
  op.create = [](void* context, const tenon_operator_call* call, void** out_state, tenon_error* error) {
    auto* const mine = static_cast<Counts*>(context);
    tenon_io_info type{};
    type.struct_size = sizeof(type);
    EXPECT_EQ(api().call_set_output(call, 0, &type, nullptr), TENON_FAILED_PRECONDITION);
    if (mine->create_fails) {
      std::snprintf(error->message, sizeof(error->message), "no kernel");
      return tenon_status{TENON_UNAVAILABLE};
    }
    ++mine->created;
    *out_state = new float(10);
    return tenon_status{TENON_OK};
  };
  op.destroy = [](void* context, void* state) {
    ++static_cast<Counts*>(context)->destroyed;
    delete static_cast<float*>(state);
  };
  op.run = [](void* context, void* state, const tenon_operator_call*, tenon_value* const* inputs, uint32_t,
              tenon_value** outputs, uint32_t, tenon_error* error) {
    ++static_cast<Counts*>(context)->runs;
    tenon_tensor from{};
    EXPECT_EQ(api().value_tensor(inputs[0], &from), TENON_OK);
    void* data = nullptr;
    const tenon_status status =
        api().value_make_tensor(TENON_FLOAT32, from.rank, from.dims, &outputs[0], &data, error);
    for (uint64_t i = 0; status == TENON_OK && i < from.byte_size / sizeof(float); ++i)
      static_cast<float*>(data)[i] = *static_cast<float*>(state) * static_cast<const float*>(from.data)[i];
    return status;
  };
  op.free_fn = [](void* context) { ++static_cast<Counts*>(context)->freed; };
  return op;
}

TEST(OperatorsOfC, HaveAStatePerNodeAndAreFreedOnce) {
  Counts counts;
  tenon_operators* operators = nullptr;
  ASSERT_EQ(api().operators_create(&operators, nullptr), TENON_OK);
  const tenon_operator op = counted(&counts);
  ASSERT_EQ(api().operators_add(operators, &op, nullptr), TENON_OK);
  EXPECT_EQ(api().operators_add(operators, &op, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(counts.freed, 0) << "what is refused is not freed";
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  m.output(m.node("com.acme:Scale", {m.node("com.acme:Scale", {x})}), "y");
  const std::string bytes = m.bytes();
  const Config config = cpu();
  tenon_session_options options{};
  options.struct_size = sizeof(options);
  options.operators = operators;
  tenon_session* session = nullptr;
  ASSERT_EQ(api().session_create_from_memory(bytes.data(), bytes.size(), 0, as_str(""), config.get(),
                                             &options, &session, nullptr),
            TENON_OK);
  api().operators_release(operators);
  EXPECT_EQ(counts.created, 2);
  tenon_io_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(api().session_output(session, 0, &info), TENON_OK);
  EXPECT_EQ(as_string(info.type_text), "float32[rows,2]");
  for (int i = 0; i < 3; ++i) {
    const tenon_named_value input{as_str("x"), kOne.get()};
    tenon_value* output = nullptr;
    ASSERT_EQ(api().run(session, nullptr, &input, 1, nullptr, 0, &output, nullptr), TENON_OK);
    EXPECT_THAT(Value::adopt(output).data<float>(), ElementsAre(100, -100));
  }
  EXPECT_EQ(counts.runs, 6);
  EXPECT_EQ(counts.destroyed, 0);
  EXPECT_EQ(counts.freed, 0);
  api().session_release(session);
  EXPECT_EQ(counts.destroyed, 2);
  EXPECT_EQ(counts.freed, 1);
}

TEST(OperatorsOfC, AFailureToCreateEndsTheSession) {
  Counts counts;
  counts.create_fails = true;
  tenon_operators* operators = nullptr;
  ASSERT_EQ(api().operators_create(&operators, nullptr), TENON_OK);
  const tenon_operator op = counted(&counts);
  ASSERT_EQ(api().operators_add(operators, &op, nullptr), TENON_OK);
  const std::string bytes = scaling().bytes();
  const Config config = cpu();
  tenon_session_options options{};
  options.struct_size = sizeof(options);
  options.operators = operators;
  tenon_session* session = nullptr;
  tenon_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(api().session_create_from_memory(bytes.data(), bytes.size(), 0, as_str(""), config.get(),
                                             &options, &session, &error),
            TENON_UNAVAILABLE);
  EXPECT_EQ(api().error_kind(&error), uint32_t{TENON_FAILURE_OPERATOR});
  EXPECT_EQ(as_string(api().error_part(&error, TENON_ERROR_PART_NODE)), "grow");
  EXPECT_STREQ(error.message, "no kernel");
  EXPECT_EQ(counts.created, 0);
  EXPECT_EQ(counts.destroyed, 0);
  api().operators_release(operators);
  EXPECT_EQ(counts.freed, 1);
}

}  // namespace
}  // namespace tenon::test
