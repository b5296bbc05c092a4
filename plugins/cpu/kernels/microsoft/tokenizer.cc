#include <memory>
#include <span>

#include "kernels/common/regex.h"

namespace tenon::cpu {
namespace {

using Points = std::span<const char32_t>;
using Tokens = std::vector<Points>;

std::vector<std::string> separators_of(const NodeView& n) { return n.attr_strings("separators"); }

/// A single empty separator, or the expression ".", makes each code point a token.
bool by_characters(const NodeView& n) {
  const std::vector<std::string> separators = separators_of(n);
  return (separators.size() == 1 && separators[0].empty()) || n.attr_s("tokenexp", "") == ".";
}

// The tokens of each string, cut at separators or matched by an expression, padded to the longest list;
// `mark` puts marks around them.
class Tokenizer {
 public:
  static Support supports(const NodeView& n) {
    const bool separated = !separators_of(n).empty(), expressed = !n.attr_s("tokenexp", "").empty();
    const int64_t least = n.attr_i("mincharnum", 1);
    return Check(n)
        .that(n.input(0).dtype() == TENON_STRING, TENON_REJECT_TYPE, "the input must be strings")
        .that(separated != expressed, TENON_REJECT_ATTRIBUTE,
              "give either attribute separators or attribute tokenexp, neither empty")
        .that(least > 0, TENON_REJECT_ATTRIBUTE, "attribute mincharnum is ", least, ", it must be positive")
        .that(least == 1 || !by_characters(n), TENON_REJECT_ATTRIBUTE, "attribute mincharnum is ", least,
              ", but tokens are single characters: set it to 1");
  }

  explicit Tokenizer(const NodeView& n)
      : least_(static_cast<size_t>(n.attr_i("mincharnum", 1))),
        mark_(n.attr_i("mark", 0) != 0),
        by_characters_(by_characters(n)),
        pad_(n.attr_s("pad_value", "")) {
    if (by_characters_) return;
    const std::string expression = n.attr_s("tokenexp", "");
    if (!expression.empty()) expression_ = std::make_unique<Regex>(expression);
    for (const std::string& separator : separators_of(n)) {
      separators_.emplace_back(separator);
      require(!separators_.back().may_be_empty(), TENON_INVALID_ARGUMENT, "separator '", separator,
              "' also matches the empty string; write one that matches at least one character (x+, not x*)");
    }
  }

  void prepare(PrepareContext& p) const { p.set_at_run(0); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    Dims dims(in.dims().begin(), in.dims().end());
    StringBuilder out;
    if (in.size() == 0) {  // shape [0] stays, [N, 0] and [0, C] become [N, 0] and [0, 0]
      dims.back() = 0;
      return ctx.set_strings(0, dims, out);
    }
    CancelPoint point(ctx);
    std::vector<std::vector<char32_t>> texts;
    std::vector<Tokens> rows;
    size_t most = 0;
    for (int64_t i = 0; i < in.size(); ++i) {
      texts.push_back(decode_utf8(in.string(i)));
      require(is_utf8(in.string(i), texts.back()), TENON_INVALID_ARGUMENT, "string ", i, " of '",
              "X' is not valid UTF-8; give text in that encoding");
      rows.push_back(tokens_of(texts.back(), point));
      most = std::max(most, rows.back().size());
    }
    dims.push_back(static_cast<int64_t>(most == 0 ? 0 : most + (mark_ ? 2 : 0)));
    for (const Tokens& row : rows) {
      if (most == 0) break;
      point.pass(static_cast<int64_t>(most));
      add(row, most, out);
    }
    ctx.set_strings(0, dims, out);
  }

 private:
  void add(const Tokens& row, size_t most, StringBuilder& out) const {
    if (mark_) out.add("\x02");
    for (const Points token : row) out.add(encode_utf8({token.begin(), token.end()}));
    if (mark_) out.add("\x03");
    for (size_t i = row.size(); i < most; ++i) out.add(pad_);
  }

  Tokens tokens_of(Points text, CancelPoint<Context>& point) const {
    if (by_characters_) return characters(text);
    return expression_ ? matches(text, point) : between_separators(text, point);
  }

  static Tokens characters(Points text) {
    Tokens out;
    for (size_t i = 0; i < text.size(); ++i) out.push_back(text.subspan(i, 1));
    return out;
  }

  /// Skips matches that are too short, and continues one code point after their begin.
  Tokens matches(Points text, CancelPoint<Context>& point) const {
    Tokens out;
    for (size_t at = 0; const auto found = expression_->find(text, at, point);) {
      const size_t length = found->end - found->begin;
      if (length >= least_) out.push_back(text.subspan(found->begin, length));
      at = length >= least_ ? found->end : found->begin + 1;
    }
    return out;
  }

  /// Each separator cuts the parts that the previous ones have left.
  Tokens between_separators(Points text, CancelPoint<Context>& point) const {
    Tokens parts = {text};
    for (const Regex& separator : separators_) {
      Tokens next;
      for (const Points part : parts) {
        size_t at = 0;
        while (const auto found = separator.find(part, at, point)) {
          keep(part.subspan(at, found->begin - at), next);
          at = found->end;
        }
        keep(part.subspan(at), next);
      }
      parts = std::move(next);
    }
    return parts;
  }
  void keep(Points part, Tokens& parts) const {
    if (part.size() >= least_) parts.push_back(part);
  }

  size_t least_;
  bool mark_, by_characters_;
  std::string pad_;
  std::unique_ptr<Regex> expression_;
  std::vector<Regex> separators_;
};
TENON_KERNEL(Tokenizer, .domain = "com.microsoft", .op_type = "Tokenizer", .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
