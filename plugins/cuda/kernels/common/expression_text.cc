#include "kernels/common/expression_text.h"

#include "kernels/common/kernel.h"
#include "kernels/common/operations.h"

namespace tenon::cuda {
namespace {

/// The type in which values of an element type are kept between steps.
std::string_view register_type(uint32_t dtype) {
  if (dtype == TENON_BOOL) return "bool";
  return dtype == TENON_FLOAT16 || dtype == TENON_BFLOAT16 ? "float" : cuda_type(dtype);
}

std::string register_name(uint32_t operand) {
  return operand < kFirstResult ? cat("r", operand) : cat("t", operand - kFirstResult);
}

/// "a, b, c" for `one(0)`, `one(1)`, ...
template <class One>
std::string listed(size_t count, std::string_view between, const One& one) {
  std::string out;
  for (size_t k = 0; k < count; ++k) out += cat(k == 0 ? "" : between, one(k));
  return out;
}

/// The names of the operators, as a function's name: "Add_Relu".
std::string function_name(std::span<const Step> steps) {
  constexpr size_t kMost = 4;
  std::string out;
  size_t named = 0, all = 0;
  for (const Step& step : steps) {
    if (step.op == Operation::kCopy && steps.size() > 1) continue;
    if (++all > kMost) continue;
    out += cat(named++ == 0 ? "" : "_", traits_of(step.op).name);
  }
  if (all > named) out += cat("_and_", all - named, "_more");
  return out.empty() ? "Copy" : out;
}

/// The names of the parameters of a step, the first of which is number `at` of all.
std::string parameters_of(const Step& step, size_t at) {
  return listed(traits_of(step.op).parameters, "", [&](size_t k) { return cat(", p", at + k); });
}

/// "op::Add<float>(r0, t1)".
std::string call_of(const Step& step, size_t first_parameter) {
  const OperationTraits& traits = traits_of(step.op);
  const std::string_view compute = register_type(step.compute);
  const auto operand = [&](size_t k) {
    const uint32_t number = k == 0 ? step.a : k == 1 ? step.b : step.c;
    // A condition, and an exponent, have types of their own.
    const bool is_other = (step.op == Operation::kWhere && k == 0) || (step.op == Operation::kPow && k == 1);
    return is_other ? register_name(number) : cat("(", compute, ")", register_name(number));
  };
  std::string type(compute);
  if (step.op == Operation::kPow) type = "";  // both types follow from the operands
  if (step.op == Operation::kCast)
    type = step.result == TENON_BOOL ? "bool" : std::string(cuda_type(step.result));
  return cat("op::", traits.name, type.empty() ? "" : cat("<", type, ">"), "(",
             listed(traits.operands, ", ", operand), parameters_of(step, first_parameter), ")");
}

size_t parameter_count(std::span<const Step> steps) {
  size_t out = 0;
  for (const Step& step : steps) out += traits_of(step.op).parameters;
  return out;
}

/// The function that computes one element from the values of its operands.
std::string element_function(std::span<const uint32_t> operands, std::span<const Step> steps,
                             uint32_t result) {
  const size_t parameters = parameter_count(steps);
  std::string out =
      cat("__device__ inline ", register_type(result), " element(",
          listed(operands.size(), ", ", [&](size_t k) { return cat(register_type(operands[k]), " r", k); }),
          listed(parameters, "", [](size_t k) { return cat(", float p", k); }), ") {\n");
  size_t at = 0;
  for (size_t k = 0; k < steps.size(); ++k) {
    out += cat("  const ", register_type(steps[k].result), " t", k, " = ", call_of(steps[k], at), ";\n");
    at += traits_of(steps[k].op).parameters;
  }
  return out + cat("  return t", steps.size() - 1, ";\n}\n");
}

/// The head of a kernel with its loop over rows, in which a0, a1, ... are the operands' places.
std::string kernel_head(std::string_view name, std::span<const uint32_t> operands,
                        std::span<const Step> steps, uint32_t result, bool in_place) {
  const std::string_view alone = in_place ? "" : " __restrict__";
  const auto each = [&](std::string_view between, const auto& one) {
    return listed(operands.size(), between, one);
  };
  return cat(
      "KERNEL ", name, "(",
      each(", ", [&](size_t k) { return cat("const ", cuda_type(operands[k]), "*", alone, " x", k); }), ", ",
      cuda_type(result), "*", alone, " y, Places w",
      listed(parameter_count(steps), "", [](size_t k) { return cat(", float p", k); }), ") {\n",
      "  EACH_Y(row, w.outer) {\n    int64 ", each(", ", [](size_t k) { return cat("a", k, " = 0"); }),
      ";\n    for (int d = w.rank - 1, rest = (int)row; d >= 0; --d) {\n",
      "      const int next = rest / w.size[d], here = rest - next * w.size[d];\n",
      each("", [](size_t k) { return cat("      a", k, " += (int64)here * w.stride[", k, "][d];\n"); }),
      "      rest = next;\n    }\n");
}

std::string signature_of(std::span<const uint32_t> operands, std::span<const Step> steps, uint32_t result,
                         bool in_place) {
  std::string out =
      cat("expression(", listed(operands.size(), ",", [&](size_t k) { return dtype_name(operands[k]); }), ")",
          dtype_name(result), in_place ? "!" : "", ":");
  for (const Step& step : steps) {
    const std::array<uint32_t, 3> numbers{step.a, step.b, step.c};
    out += cat(" ", traits_of(step.op).name, "(",
               listed(traits_of(step.op).operands, ",", [&](size_t k) { return register_name(numbers[k]); }),
               ")", dtype_name(step.compute));
    if (step.result != step.compute) out += cat(">", dtype_name(step.result));
  }
  return out;
}

}  // namespace

ExpressionText text_of(std::span<const uint32_t> operands, std::span<const Step> steps, uint32_t result,
                       bool in_place) {
  const std::string name = function_name(steps);
  ExpressionText out{signature_of(operands, steps, result, in_place), {}, name, name + "4"};
  const auto each = [&](std::string_view between, const auto& one) {
    return listed(operands.size(), between, one);
  };
  const std::string parameters = listed(parameter_count(steps), "", [](size_t k) { return cat(", p", k); });
  const std::string single =
      cat("y[row * w.inner + i] = element(",
          each(", ",
               [&](size_t k) {
                 return cat("(", register_type(operands[k]), ")x", k, "[a", k, " + i * w.step[", k, "]]");
               }),
          parameters, ");\n");
  const std::string_view stored = cuda_type(result);
  out.text = cat(
      kOperations, "struct Places {\n  int rank, inner, outer, zero;\n  int size[MAX_RANK];\n  int stride[",
      kMostOperands, "][MAX_RANK];\n  int step[", kMostOperands, "];\n};\n",
      element_function(operands, steps, result), kernel_head(out.each, operands, steps, result, in_place),
      "    EACH(i, w.inner) ", single, "  }\n}\n", kernel_head(out.four, operands, steps, result, in_place),
      "    const bool fits = op::fits_four(y + row * w.inner)",
      each("",
           [](size_t k) { return cat(" && (w.step[", k, "] == 0 || op::fits_four(x", k, " + a", k, "))"); }),
      ";\n    EACH(four, (w.inner + 3) / 4) {\n      const int64 begin = 4 * four;\n",
      "      if (!fits || begin + 4 > w.inner) {\n",
      "        for (int64 i = begin; i < begin + 4 && i < w.inner; ++i) ", single,
      "        continue;\n      }\n",
      each("",
           [&](size_t k) {
             return cat("      const op::Four<", cuda_type(operands[k]), "> v", k, " = op::load_four(x", k,
                        " + a", k, ", begin, w.step[", k, "]);\n");
           }),
      "      op::Four<", stored, "> result;\n#pragma unroll\n      for (int k = 0; k < 4; ++k)\n",
      "        result.v[k] = element(",
      each(", ", [&](size_t k) { return cat("(", register_type(operands[k]), ")v", k, ".v[k]"); }),
      parameters, ");\n      *(op::Four<", stored,
      ">*)(y + row * w.inner + begin) = result;\n    }\n  }\n}\n");
  return out;
}

}  // namespace tenon::cuda
