// Contract: what a kernel demands of the shapes of its inputs. It is written beside TENON_KERNEL, and the SDK checks
// it before it calls the kernel's `prepare`. A kernel may rely on its contract.
//
//   TENON_KERNEL(Conv, .op_type = "Conv",
//                .contract = "X: [N, C, D...]; W: [M, C/$group, K...] & rank X; B?: [M]")
//
// One entry per input, in order, separated by ";":
//   NAME: shape        the input is required
//   NAME?: shape       the input may be missing
//   NAME...: shape     this input and all after it (there may be no input, but none may be missing in the middle)
// An operator without inputs has the contract "none".
// `$n` in an entry is the node's integer attribute n, or 1 when the node lacks it; `$n:-1` gives another default.
//
// A shape is one or more alternatives, separated by "|"; each is one or more conditions, joined by "&":
//   any                any shape
//   [a, b, c]          these dims; [] is a scalar of rank 0
//   one                a single element, of any rank
//   rank X             the rank of input X
//   rank 2..4  rank 3..  rank 2    a rank within bounds, or exactly this rank
//   = X                the dims of input X
//   ~ X                broadcasts to the dims of input X (ONNX: unidirectional)
//   ~                  broadcasts with all other inputs marked so (ONNX: multidirectional)
//   count X            as many elements as input X
// A dim is:
//   7   N              a number, a symbol
//   4*H   C/$group     products and exact quotients, from left to right
//   X.0   X.-1   X.$axis:-1    a dim of input X
//   <=N                at most N
//   ?                  any number
//   D...               any number of dims, at most once in a list. Every D... must have the same dims.
// A symbol gets its value where it first stands alone or as the last factor of a product.
//
// A mark at the end of an entry tells how the kernel uses the elements. Only the tests read marks:
//   @index             the elements are positions; one out of range is an error of Run
//   @size              memory or work depends on the elements; absurd numbers are an error before memory is taken
//
// A dim that is not known (TENON_DIM_UNKNOWN) satisfies every condition. Values that are not tensors are not checked.
#ifndef TENON_EP_CONTRACT_HPP_
#define TENON_EP_CONTRACT_HPP_

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ep/contract_reader.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

class Contract {
 public:
  using Attributes = ContractReader::Attributes;
  /// The dims of input `i`; nothing when it is missing or not a tensor.
  using Shapes = std::function<std::optional<DimsView>(int i)>;

  using Factor = ContractForm::Factor;
  using Dim = ContractForm::Dim;
  using Condition = ContractForm::Condition;
  using Input = ContractForm::Input;

  Contract() = default;
  /// Throws Error when `text` cannot be read. `attributes` is asked for each $name.
  Contract(std::string_view text, const Attributes& attributes)
      : form_(ContractReader(text, attributes).read()) {}

  const std::vector<Input>& inputs() const { return form_.inputs; }

  /// Why the shapes of `count` inputs break the contract, or an empty text.
  std::string check(int count, const Shapes& shapes) const {
    Bound bound;
    bound.symbols.assign(form_.symbols.size(), TENON_DIM_UNKNOWN);
    bound.lists.assign(form_.lists.size(), std::nullopt);
    for (int i = 0; i < count || i < static_cast<int>(form_.inputs.size()); ++i) {
      const Input* input = input_at(i);
      if (input == nullptr) break;
      const std::optional<DimsView> dims = shapes(i);
      if (!dims) continue;
      if (!satisfies(*input, *dims, bound, shapes)) return refusal(i, *input, *dims, bound);
    }
    return {};
  }
  /// The first required input that is missing, or -1.
  int missing(int count, const std::function<bool(int)>& present) const {
    for (int i = 0; i < std::max(count, static_cast<int>(form_.inputs.size())); ++i) {
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

  const Input* input_at(int i) const {
    const auto at = static_cast<size_t>(i);
    if (at < form_.inputs.size()) return &form_.inputs[at];
    return !form_.inputs.empty() && form_.inputs.back().rest ? &form_.inputs.back() : nullptr;
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
      if (other != 1 && !equal(other, dims[i])) return false;
      if (other == 1 || other < 0) other = dims[i];
    }
    return true;
  }

  bool holds(const Condition& c, DimsView dims, Bound& bound, const Shapes& shapes) const {
    std::optional<DimsView> other;
    if (c.input >= 0) {
      other = shapes(c.input);
      if (!other) return true;  // that input is missing
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
      } else if (multiply_overflows(value, factor, &value)) {
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

  /// A shape of the contract in words, for messages.
  static std::string needed(const std::string& text) {
    if (text == "~") return "a shape that broadcasts with the inputs before it";
    if (text == "one") return "one element";
    if (text[0] == '~') return cat("a shape that broadcasts to input", text.substr(1));
    if (text[0] == '=') return cat("the shape of input", text.substr(1));
    return text;
  }
  std::string refusal(int i, const Input& input, DimsView dims, const Bound& bound) const {
    std::string out =
        cat("input ", i, " (", input.name, ") has shape ", dims, ", but needs ", needed(input.text));
    std::string values;
    for (size_t s = 0; s < form_.symbols.size(); ++s) {
      if (bound.symbols[s] >= 0)
        values += cat(values.empty() ? "" : ", ", form_.symbols[s], " = ", bound.symbols[s]);
    }
    return values.empty() ? out : cat(out, " (", values, ")");
  }

  ContractForm form_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_CONTRACT_HPP_
