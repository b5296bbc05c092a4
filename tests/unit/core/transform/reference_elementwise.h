// The operators of the slow evaluator that work element by element.
#pragma once

#include <cmath>
#include <map>
#include <string_view>

namespace tenon::testing {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

inline const std::map<std::string_view, Unary> kUnary = {
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"HardSwish", [](double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }},
    {"Identity", [](double x) { return x; }},
    {"IsNaN", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
    {"Neg", [](double x) { return -x; }},
    {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Relu", [](double x) { return x > 0 ? x : 0; }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"Swish", [](double x) { return x / (1 + std::exp(-x)); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
};

inline const std::map<std::string_view, Binary> kBinary = {
    {"Add", [](double a, double b) { return a + b; }},
    {"Sum", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Max", [](double a, double b) { return a > b ? a : b; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
    {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
};

}  // namespace tenon::testing
