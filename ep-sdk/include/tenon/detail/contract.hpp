// Contract: what a kernel demands of the shapes of its inputs, stated once beside TENON_KERNEL and checked by the
// SDK before the kernel's `prepare` sees them. A kernel may rely on what its contract says.
//
//   TENON_KERNEL(Conv, .op_type = "Conv",
//                .contract = "X: [N, C, D...]; W: [M, C/$group, K...] & rank X; B?: [M]")
//
// One entry per input, in order, separated by ";":
//   NAME: shape        the input must be there
//   NAME?: shape       it may be missing
//   NAME...: shape     this input and all after it (none is fine, but one left out in the middle is not)
// or, of an operator without inputs, the word "none".
// `$n` in an entry is an attribute of the node, an integer, 1 when the node lacks it; `$n:-1` gives another default.
//
// A shape is alternatives separated by "|" of conditions joined by "&":
//   any                no condition: a statement, not an omission
//   [a, b, c]          these dims; [] is a scalar of rank 0
//   one                a single element, of any rank
//   rank X   rank 2..4   rank 3..      as many dims as input X has; a number of dims within bounds
//   = X                the dims of input X
//   ~ X                broadcasts to the dims of input X (ONNX: unidirectional)
//   ~                  broadcasts with all other inputs marked so (ONNX: multidirectional)
//   count X            as many elements as input X has
// A dim is:
//   7   N   4*H   C/$group   X.0   X.-1   X.$axis:-1      a number, a symbol, products and exact quotients from left
//                                                           to right, a dim of an input that is there
//   <=N                at most that many
//   ?                  any number
//   D...               any number of dims (at most one such in a list). A second D... must have the same dims.
// A symbol has the value of its first appearance, where it stands alone or is the last factor of a product.
//
// A mark at the end of an entry says what the elements are for; the SDK does not read them, the tests do:
//   @index             positions: one that is out of range is an error of Run, on every provider
//   @size              memory or work is computed from it: absurd numbers are an error, before the memory is taken
//
// A dim that is not known (TENON_DIM_UNKNOWN) satisfies everything. Values that are no tensors are not looked at.
#ifndef TENON_DETAIL_CONTRACT_HPP_
#define TENON_DETAIL_CONTRACT_HPP_

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/detail/tensor.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::ep {

class Contract {
 public:
  /// An integer attribute, or `otherwise` when the node lacks it.
  using Attributes = std::function<int64_t(std::string_view name, int64_t otherwise)>;
  /// The dims of input `i`; nothing when it is missing or is no tensor.
  using Shapes = std::function<std::optional<DimsView>(int i)>;

  struct Factor {
    enum Kind { kNumber, kSymbol, kDim } kind = kNumber;
    char op = '*';       // '*' or '/', before the factor
    int64_t number = 0;  // kNumber; kDim: the axis, from the end when negative
    int index = 0;       // kSymbol: which; kDim: the input
  };
  struct Dim {
    bool any = false, at_most = false;
    int list = -1;  // which list of dims, for D...
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

  Contract() = default;
  /// Throws Error when `text` cannot be read. `attributes` is asked for each $name.
  Contract(std::string_view text, const Attributes& attributes) : text_(text), attributes_(&attributes) {
    if (text == "none") at_ = text.size();
    while (skip_space(), at_ < text_.size()) {
      read_input();
      if (!accept(';')) break;
    }
    skip_space();
    if (at_ != text_.size()) bad("the end or ';' expected");
    attributes_ = nullptr;
    text_ = {};
  }

  const std::vector<Input>& inputs() const { return inputs_; }

  /// Why the shapes of `count` inputs break the contract, or an empty text.
  std::string check(int count, const Shapes& shapes) const {
    Bound bound;
    bound.symbols.assign(symbols_.size(), TENON_DIM_UNKNOWN);
    bound.lists.assign(lists_.size(), std::nullopt);
    for (int i = 0; i < count || i < static_cast<int>(inputs_.size()); ++i) {
      const Input* input = input_at(i);
      if (input == nullptr) break;
      const std::optional<DimsView> dims = shapes(i);
      if (!dims) continue;
      if (!satisfies(*input, *dims, bound, shapes)) return refusal(i, *input, *dims, bound);
    }
    return {};
  }
  /// The first input that must be there and is not, or -1.
  int missing(int count, const std::function<bool(int)>& present) const {
    for (int i = 0; i < std::max(count, static_cast<int>(inputs_.size())); ++i) {
      const Input* input = input_at(i);
      if (input == nullptr) break;
      if (input->optional || (input->rest && i >= count)) continue;
      if (i >= count || !present(i)) return i;
    }
    return -1;
  }

 private:
  struct Bound {
    std::vector<int64_t> symbols;                // TENON_DIM_UNKNOWN: not yet
    std::vector<std::optional<DimsView>> lists;  // of D...
    std::optional<Dims> broadcast;               // of all inputs marked "~" so far
  };

  // ---- Reading ----

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
    return (*attributes_)(attribute_name, otherwise);
  }
  int input_named(std::string_view wanted) const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].name == wanted) return static_cast<int>(i);
    }
    return -1;
  }
  int input_before() {
    const std::string_view wanted = name();
    const int found = input_named(wanted);
    if (found < 0) bad(cat("'", wanted, "' is no input before this one"));
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
    inputs_.push_back(std::move(input));
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
      bad(cat("'", keyword, "' is no condition"));
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
          if (!out.factors.empty() || out.at_most) bad("a list of dims stands alone");
          out.list = position(lists_, symbol);
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
      if (factor.index < 0) bad(cat("'", symbol, "' is no input before this one"));
      factor.number = accept('$') ? attribute() : integer();
      return;
    }
    factor.kind = Factor::kSymbol;
    factor.index = position(symbols_, symbol);
  }

  // ---- Checking ----

  const Input* input_at(int i) const {
    const auto at = static_cast<size_t>(i);
    if (at < inputs_.size()) return &inputs_[at];
    return !inputs_.empty() && inputs_.back().rest ? &inputs_.back() : nullptr;
  }

  bool satisfies(const Input& input, DimsView dims, Bound& bound, const Shapes& shapes) const {
    for (const std::vector<Condition>& all : input.alternatives) {
      Bound tried = bound;
      bool good = true;
      for (const Condition& condition : all) good = good && holds(condition, dims, tried, shapes);
      if (!good) continue;
      bound = std::move(tried);
      return true;
    }
    return false;
  }

  static bool equal(int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; }
  static bool equal(DimsView a, DimsView b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!equal(a[i], b[i])) return false;
    }
    return true;
  }
  static bool known(DimsView dims) {
    for (const int64_t d : dims) {
      if (d < 0) return false;
    }
    return true;
  }
  static bool broadcasts_to(DimsView dims, DimsView target) {
    if (dims.size() > target.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1 && !equal(dims[i], target[target.size() - dims.size() + i])) return false;
    }
    return true;
  }
  static bool broadcasts(DimsView dims, std::optional<Dims>& with) {
    if (!with) {
      with.emplace(dims.begin(), dims.end());
      return true;
    }
    if (with->size() < dims.size()) with->insert(with->begin(), dims.size() - with->size(), 1);
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t& other = (*with)[with->size() - dims.size() + i];
      if (dims[i] == 1) continue;
      if (other == 1) {
        other = dims[i];
      } else if (!equal(other, dims[i])) {
        return false;
      } else if (other < 0) {
        other = dims[i];
      }
    }
    return true;
  }

  bool holds(const Condition& c, DimsView dims, Bound& bound, const Shapes& shapes) const {
    std::optional<DimsView> other;
    if (c.input >= 0) {
      other = shapes(c.input);
      if (!other) return true;  // it is missing: nothing to compare with
    }
    switch (c.kind) {
      case Condition::kAny:
        return true;
      case Condition::kOne:
        return !known(dims) || element_count(dims) == 1;
      case Condition::kRankOf:
        return dims.size() == other->size();
      case Condition::kRank:
        return static_cast<int>(dims.size()) >= c.lowest && static_cast<int>(dims.size()) <= c.highest;
      case Condition::kSame:
        return equal(dims, *other);
      case Condition::kBroadcastTo:
        return broadcasts_to(dims, *other);
      case Condition::kBroadcast:
        return broadcasts(dims, bound.broadcast);
      case Condition::kCount:
        return !known(dims) || !known(*other) || element_count(dims) == element_count(*other);
      case Condition::kDims:
        return match(c.dims, dims, bound, shapes);
    }
    return false;
  }

  bool match(const std::vector<Dim>& wanted, DimsView dims, Bound& bound, const Shapes& shapes) const {
    size_t list_length = 0;
    bool has_list = false;
    for (const Dim& d : wanted) has_list = has_list || d.list >= 0;
    if (has_list ? dims.size() + 1 < wanted.size() : dims.size() != wanted.size()) return false;
    if (has_list) list_length = dims.size() + 1 - wanted.size();
    size_t at = 0;
    for (const Dim& d : wanted) {
      if (d.list >= 0) {
        const DimsView found = dims.subspan(at, list_length);
        std::optional<DimsView>& before = bound.lists[static_cast<size_t>(d.list)];
        if (before && !equal(*before, found)) return false;
        before = found;
        at += list_length;
      } else if (!match(d, dims[at++], bound, shapes)) {
        return false;
      }
    }
    return true;
  }

  bool match(const Dim& wanted, int64_t dim, Bound& bound, const Shapes& shapes) const {
    if (wanted.any || dim < 0) return true;
    int64_t value = 1;
    for (size_t i = 0; i < wanted.factors.size(); ++i) {
      const Factor& f = wanted.factors[i];
      int64_t factor = f.number;
      if (f.kind == Factor::kDim) {
        factor = dim_of(f, shapes);
        if (factor == TENON_DIM_UNKNOWN) return true;
        if (factor < 0) return false;
      } else if (f.kind == Factor::kSymbol) {
        int64_t& symbol = bound.symbols[static_cast<size_t>(f.index)];
        if (symbol < 0) {
          const bool last = i + 1 == wanted.factors.size() && f.op == '*' && !wanted.at_most;
          if (!last) return true;  // not known yet
          if (value == 0 || dim % value != 0) return false;
          symbol = dim / value;
          return true;
        }
        factor = symbol;
      }
      if (f.op == '/') {
        if (factor <= 0 || value % factor != 0) return false;
        value /= factor;
      } else if (__builtin_mul_overflow(value, factor, &value)) {
        return false;
      }
    }
    return wanted.at_most ? dim <= value : dim == value;
  }
  /// TENON_DIM_UNKNOWN when it is not known; -2 when there is no such axis.
  static int64_t dim_of(const Factor& f, const Shapes& shapes) {
    const std::optional<DimsView> dims = shapes(f.index);
    if (!dims) return TENON_DIM_UNKNOWN;
    const auto rank = static_cast<int64_t>(dims->size());
    const int64_t axis = f.number < 0 ? f.number + rank : f.number;
    if (axis < 0 || axis >= rank) return -2;
    return (*dims)[static_cast<size_t>(axis)];
  }

  /// A shape of the contract for a person who has not read the grammar.
  static std::string needed(const std::string& text) {
    if (text == "~") return "one that broadcasts with the inputs before it";
    if (text == "one") return "one element";
    if (text[0] == '~') return cat("one that broadcasts to input", text.substr(1));
    if (text[0] == '=') return cat("that of input", text.substr(1));
    return text;
  }
  std::string refusal(int i, const Input& input, DimsView dims, const Bound& bound) const {
    std::string out =
        cat("input ", i, " (", input.name, ") has shape ", dims, ", and needed is ", needed(input.text));
    std::string values;
    for (size_t s = 0; s < symbols_.size(); ++s) {
      if (bound.symbols[s] >= 0)
        values += cat(values.empty() ? "" : ", ", symbols_[s], " = ", bound.symbols[s]);
    }
    return values.empty() ? out : cat(out, " (", values, ")");
  }

  std::string_view text_;  // while reading
  size_t at_ = 0;
  const Attributes* attributes_ = nullptr;
  std::vector<std::string> symbols_, lists_;
  std::vector<Input> inputs_;
};

}  // namespace tenon::ep
#pragma GCC visibility pop
#endif  // TENON_DETAIL_CONTRACT_HPP_
