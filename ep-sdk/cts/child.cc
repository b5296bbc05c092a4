#include "ep-sdk/cts/child.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace tenon::cts {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void write_line(const std::string& line) { send_to_parent(line + "\n"); }

int milliseconds(double seconds) { return static_cast<int>(std::max(0.0, seconds) * 1000); }

}  // namespace

Child::Child(const std::vector<std::string>& arguments) : process_(arguments) {}

bool Child::send(const std::string& line) { return process_.write(line + "\n"); }

std::optional<std::string> Child::receive(double limit_seconds) {
  const auto begin = Clock::now();
  char chunk[4096];
  for (;;) {
    for (size_t end; (end = buffer_.find('\n')) != std::string::npos;) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.rfind('@', 0) == 0) {
        activity_ = line.substr(1);
      } else if (line.rfind('+', 0) == 0) {
        step_ = line.substr(1);
      } else {
        return line;
      }
    }
    if (at_end_) return std::nullopt;
    const int left = milliseconds(limit_seconds - seconds_since(begin));
    if (left <= 0) return std::nullopt;
    const std::optional<size_t> n = process_.read(chunk, sizeof chunk, left);
    if (n) buffer_.append(chunk, *n);
    at_end_ = n == size_t{0};
  }
}

bool Child::finish(double limit_seconds) {
  process_.close_input();
  if (process_.wait(milliseconds(limit_seconds))) return true;
  process_.kill();
  return false;
}

bool Child::ended_well() const { return process_.ended_well(); }

std::string Child::obituary() const { return process_.obituary(); }

std::string Child::last_words() const {
  std::string text = process_.output(4096);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

void say(const std::string& line) { write_line(line); }

void report_activity(const std::string& what) { write_line("@" + what); }

void report_step(const std::string& name) { write_line("+" + name); }

void answer(const Result& result) {
  const Json json = {{"status", result.status},
                     {"cause", result.cause},
                     {"cure", result.cure},
                     {"operators", result.operators}};
  write_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result read_answer(const std::string& line) {
  Result result;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return result;
  result.status = json.value("status", "failed");
  result.cause = json.value("cause", "");
  result.cure = json.value("cure", "");
  result.operators = json.value("operators", std::vector<std::string>{});
  return result;
}

Result run_child(const std::vector<std::string>& arguments, double limit_seconds) {
  const auto begin = Clock::now();
  Child child(arguments);
  const std::optional<std::string> line = child.receive(limit_seconds);
  const double left = limit_seconds - seconds_since(begin);
  const bool in_time = child.finish(std::max(0.0, left));
  Result result = line ? read_answer(*line) : Result();
  result.seconds = seconds_since(begin);
  result.step = child.last_step();
  if (line && (result.status == "failed" || (in_time && child.ended_well()))) return result;
  result.status = "failed";
  result.crash = in_time ? child.obituary() : "no answer within " + std::to_string(limit_seconds) + " s";
  result.cause = result.crash +
                 (line ? ", after the check, while the process was ending" : " in " + child.last_activity());
  if (const std::string words = child.last_words(); !words.empty()) result.cause += "; it printed: " + words;
  return result;
}

}  // namespace tenon::cts
