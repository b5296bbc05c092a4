// Parses the text of a contract; contract.hpp has the grammar.
#ifndef TENON_EP_CONTRACT_READER_HPP_
#define TENON_EP_CONTRACT_READER_HPP_

#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tenon/ep/tensor.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// The parsed text of a contract.
struct ContractForm {
  struct Factor {
    enum Kind { kNumber, kSymbol, kDim } kind = kNumber;
    char op = '*';       // '*' or '/', before the factor
    int64_t number = 0;  // kNumber; kDim: the axis, from the end when negative
    int index = 0;       // kSymbol: into `symbols`; kDim: the input
  };
  struct Dim {
    bool any = false, at_most = false;
    int list = -1;  // for D...: into `lists`
    std::vector<Factor> factors;
  };
  struct Condition {
    enum Kind { kAny, kDims, kOne, kRankOf, kRank, kSame, kBroadcastTo, kBroadcast, kCount } kind = kAny;
    std::vector<Dim> dims;
    int input = -1;
    int lowest = 0, highest = TENON_EP_MAX_RANK;
  };
  struct Input {
    std::string name;
    std::string text;  // of the shape, as written
    std::string mark;  // "index", "size" or empty
    bool optional = false, rest = false;
    std::vector<std::vector<Condition>> alternatives;
  };

  std::vector<Input> inputs;
  std::vector<std::string> symbols, lists;  // names; Factor::index and Dim::list are indices
};

/// Reads one text; read() may be called once.
class ContractReader {
 public:
  /// An integer attribute, or `otherwise` when the node lacks it.
  using Attributes = std::function<int64_t(std::string_view name, int64_t otherwise)>;

  ContractReader(std::string_view text, const Attributes& attributes)
      : text_(text), attributes_(attributes) {}

  /// Throws Error when the text cannot be read.
  ContractForm read() {
    if (text_ == "none") at_ = text_.size();
    while (skip_space(), at_ < text_.size()) {
      read_input();
      if (!accept(';')) break;
    }
    skip_space();
    if (at_ != text_.size()) bad("the end or ';' expected");
    return std::move(form_);
  }

 private:
  using Factor = ContractForm::Factor;
  using Dim = ContractForm::Dim;
  using Condition = ContractForm::Condition;
  using Input = ContractForm::Input;

  [[noreturn]] void bad(std::string_view what) const {
    fail(TENON_INTERNAL, "contract \"", text_, "\", at ", at_, ": ", what);
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool accept(char c) { return accept(std::string_view(&c, 1)); }
  void expect(char c) {
    if (!accept(c)) bad(cat("'", c, "' expected"));
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  bool next_is_name() {
    skip_space();
    return at_ < text_.size() && is_letter(text_[at_]);
  }
  std::string_view name() {
    if (!next_is_name()) bad("a name expected");
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  int64_t integer() {
    skip_space();
    int64_t out = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
    if (error != std::errc()) bad("a number expected");
    at_ = static_cast<size_t>(end - text_.data());
    return out;
  }
  /// After '$'.
  int64_t attribute() {
    const std::string_view attribute_name = name();
    const int64_t otherwise = accept(':') ? integer() : 1;
    return attributes_(attribute_name, otherwise);
  }
  int input_named(std::string_view wanted) const {
    for (size_t i = 0; i < form_.inputs.size(); ++i) {
      if (form_.inputs[i].name == wanted) return static_cast<int>(i);
    }
    return -1;
  }
  int input_before() {
    const std::string_view wanted = name();
    const int found = input_named(wanted);
    if (found < 0) bad(cat("'", wanted, "' is not an input before this one"));
    return found;
  }
  static int position(std::vector<std::string>& all, std::string_view wanted) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] == wanted) return static_cast<int>(i);
    }
    all.emplace_back(wanted);
    return static_cast<int>(all.size() - 1);
  }

  void read_input() {
    Input input;
    input.name = name();
    input.optional = accept('?');
    input.rest = accept("...");
    expect(':');
    skip_space();
    const size_t begin = at_;
    do {
      std::vector<Condition> all;
      do all.push_back(condition());
      while (accept('&'));
      input.alternatives.push_back(std::move(all));
    } while (accept('|'));
    size_t end = at_;
    while (end > begin && text_[end - 1] == ' ') --end;
    input.text = text_.substr(begin, end - begin);
    if (accept('@')) {
      input.mark = name();
      if (input.mark != "index" && input.mark != "size") bad("@index or @size expected");
    }
    form_.inputs.push_back(std::move(input));
  }

  Condition condition() {
    Condition out;
    if (accept('[')) {
      out.kind = Condition::kDims;
      if (accept(']')) return out;
      do out.dims.push_back(dim());
      while (accept(','));
      expect(']');
    } else if (accept('~')) {
      out.kind = next_is_name() ? Condition::kBroadcastTo : Condition::kBroadcast;
      if (out.kind == Condition::kBroadcastTo) out.input = input_before();
    } else if (accept('=')) {
      out.kind = Condition::kSame;
      out.input = input_before();
    } else {
      word(out);
    }
    return out;
  }
  void word(Condition& out) {
    const std::string_view keyword = name();
    if (keyword == "any") return;
    if (keyword == "one") {
      out.kind = Condition::kOne;
    } else if (keyword == "count") {
      out.kind = Condition::kCount;
      out.input = input_before();
    } else if (keyword == "rank" && next_is_name()) {
      out.kind = Condition::kRankOf;
      out.input = input_before();
    } else if (keyword == "rank") {
      out.kind = Condition::kRank;
      out.lowest = static_cast<int>(integer());
      if (!accept("..")) {
        out.highest = out.lowest;
      } else if (skip_space(), at_ < text_.size() && is_digit(text_[at_])) {
        out.highest = static_cast<int>(integer());
      }
    } else {
      bad(cat("'", keyword, "' is not a condition"));
    }
  }

  Dim dim() {
    Dim out;
    if (accept('?')) {
      out.any = true;
      return out;
    }
    out.at_most = accept("<=");
    char op = '*';
    do {
      Factor factor;
      factor.op = op;
      if (accept('$')) {
        factor.number = attribute();
      } else if (next_is_name()) {
        const std::string_view symbol = name();
        if (accept("...")) {
          if (!out.factors.empty() || out.at_most) bad("a list of dims cannot be part of a product or limit");
          out.list = position(form_.lists, symbol);
          return out;
        }
        read_symbol(symbol, factor);
      } else {
        factor.number = integer();
      }
      out.factors.push_back(factor);
      op = accept('*') ? '*' : accept('/') ? '/' : '\0';
    } while (op != '\0');
    return out;
  }
  void read_symbol(std::string_view symbol, Factor& factor) {
    if (at_ < text_.size() && text_[at_] == '.' && text_.substr(at_, 3) != "...") {
      ++at_;
      factor.kind = Factor::kDim;
      factor.index = input_named(symbol);
      if (factor.index < 0) bad(cat("'", symbol, "' is not an input before this one"));
      factor.number = accept('$') ? attribute() : integer();
      return;
    }
    factor.kind = Factor::kSymbol;
    factor.index = position(form_.symbols, symbol);
  }

  std::string_view text_;
  size_t at_ = 0;
  const Attributes& attributes_;
  ContractForm form_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_CONTRACT_READER_HPP_
