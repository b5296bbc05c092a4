#include <unordered_set>

#include "kernels/common/text.h"

namespace tenon::cpu {
namespace {

// Removes stop words and changes the case. Input [C] or [1, C]. When no word is left, gives one empty string.
class StringNormalizer {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .that(n.input(0).dtype() == TENON_STRING, TENON_REJECT_TYPE, "the input must be strings")
        .attr_is("case_change_action", {"NONE", "LOWER", "UPPER"});
  }
  explicit StringNormalizer(const NodeView& n)
      : action_(n.attr_s("case_change_action", "NONE")), exact_(n.attr_i("is_case_sensitive", 0) != 0) {
    for (const std::string& word : n.attr_strings("stopwords"))
      stopwords_.insert(exact_ ? word : change_case(word, Case::kLower));
  }
  void prepare(PrepareContext& p) const { p.set_at_run(0); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    StringBuilder out;
    for (int64_t i = 0; i < in.size(); ++i) {
      const std::string word(in.string(i));
      if (stopwords_.count(exact_ ? word : change_case(word, Case::kLower)) != 0) continue;
      out.add(action_ == "NONE"    ? word
              : action_ == "LOWER" ? change_case(word, Case::kLower)
                                   : change_case(word, Case::kUpper));
    }
    if (out.size() == 0) out.add("");
    Dims dims(in.dims().begin(), in.dims().end());
    dims.back() = out.size();
    ctx.set_strings(0, dims, out);
  }

 private:
  std::string action_;
  bool exact_;
  std::unordered_set<std::string> stopwords_;
};
TENON_KERNEL(StringNormalizer, .op_type = "StringNormalizer", .contract = "X: [?] | [1, ?]")

}  // namespace
}  // namespace tenon::cpu
