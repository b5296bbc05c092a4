#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

using Words = std::vector<std::string_view>;

/// Splits at each delimiter, at most `limit` times.
Words split_at(std::string_view text, std::string_view delimiter, int64_t limit) {
  Words out;
  while (limit-- != 0) {
    const size_t at = text.find(delimiter);
    if (at == std::string_view::npos) break;
    out.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  out.push_back(text);
  return out;
}

/// Splits at runs of white space. Drops white space at both ends.
Words split_words(std::string_view text, int64_t limit) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  Words out;
  const auto trim_front = [&] {
    const size_t first = text.find_first_not_of(kSpace);
    text.remove_prefix(first == std::string_view::npos ? text.size() : first);
  };
  trim_front();
  while (!text.empty() && limit-- != 0) {
    const size_t end = text.find_first_of(kSpace);
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    trim_front();
  }
  if (!text.empty()) out.push_back(text.substr(0, text.find_last_not_of(kSpace) + 1));
  return out;
}

// Outputs: the parts of each string, padded with empty strings to the longest list, and their number.
class StringSplit {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).that(n.input(0).dtype() == TENON_STRING, TENON_REJECT_TYPE, "the input must be strings");
  }
  explicit StringSplit(const NodeView& n)
      : delimiter_(n.attr_s("delimiter", "")), limit_(n.attr_i("maxsplit", -1)) {
    if (limit_ < 0) limit_ = std::numeric_limits<int64_t>::max();
  }
  void prepare(PrepareContext& p) const {
    p.set_at_run(0);
    p.set_output(1, p.input(0).dims());
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    std::vector<Words> parts;
    size_t most = 0;
    for (int64_t i = 0; i < in.size(); ++i) {
      parts.push_back(delimiter_.empty() ? split_words(in.string(i), limit_)
                                         : split_at(in.string(i), delimiter_, limit_));
      most = std::max(most, parts.back().size());
    }
    for (size_t i = 0; ctx.has_output(1) && i < parts.size(); ++i)
      ctx.output(1).data<int64_t>()[i] = static_cast<int64_t>(parts[i].size());
    if (!ctx.has_output(0)) return;
    StringBuilder out;
    CancelPoint point(ctx);
    for (const Words& words : parts) {
      point.pass(static_cast<int64_t>(most));
      for (size_t i = 0; i < most; ++i) out.add(i < words.size() ? words[i] : std::string_view());
    }
    Dims dims(in.dims().begin(), in.dims().end());
    dims.push_back(static_cast<int64_t>(most));
    ctx.set_strings(0, dims, out);
  }

 private:
  std::string delimiter_;
  int64_t limit_;
};
TENON_KERNEL(StringSplit, .op_type = "StringSplit", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
