// Support: whether a kernel supports a node, and why not. Check builds one from conditions.
#ifndef TENON_EP_SUPPORT_HPP_
#define TENON_EP_SUPPORT_HPP_

#include <initializer_list>

#include "tenon/ep/graph.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

class Support {
 public:
  static Support yes() { return Support(); }
  /// `code`: TENON_REJECT_x. `text` names the operator and the offending type, attribute or shape.
  static Support no(uint32_t code, std::string text) {
    Support out;
    out.ok_ = false;
    out.code_ = code;
    out.text_ = std::move(text);
    return out;
  }
  explicit operator bool() const { return ok_; }
  uint32_t code() const { return code_; }
  const std::string& text() const { return text_; }

 private:
  bool ok_ = true;
  uint32_t code_ = TENON_REJECT_OTHER;
  std::string text_;
};

/// A list of conditions. The first that fails is the answer:
///   return Check(n).input(0, kFloatTypes).attr_is("mode", {"linear", "cubic"});
class Check {
 public:
  explicit Check(const NodeView& node) : node_(node) {}

  /// Input `i` is missing, or a tensor with one of these element types.
  template <class... T>
  Check& input(int i, TypeList<T...> types) {
    return value("input ", i, node_.input(i), types);
  }
  template <class... T>
  Check& output(int i, TypeList<T...> types) {
    return value("output ", i, node_.output(i), types);
  }
  /// The same for all inputs from `first` on.
  template <class... T>
  Check& inputs(int first, TypeList<T...> types) {
    for (int i = first; i < node_.input_count(); ++i) input(i, types);
    return *this;
  }
  /// Input `i` is not missing.
  Check& needs_input(int i) {
    return that(node_.has_input(i), TENON_REJECT_OTHER, "input ", i, " is missing");
  }
  /// The rank of input `i` is unknown or within [lowest, highest].
  Check& rank(int i, int lowest, int highest = TENON_EP_MAX_RANK) {
    const ValueView v = node_.input(i);
    if (!v.has_rank()) return *this;
    return that(v.rank() >= lowest && v.rank() <= highest, TENON_REJECT_SHAPE, "input ", i, " ('", v.name(),
                "') has rank ", v.rank());
  }
  /// The node lacks the string attribute, or its value is one of `values`.
  Check& attr_is(std::string_view attribute, std::initializer_list<std::string_view> values) {
    if (!ok() || !node_.has_attr(attribute)) return *this;
    const std::string actual = node_.attr_s(attribute);
    for (const std::string_view value : values) {
      if (actual == value) return *this;
    }
    return that(false, TENON_REJECT_ATTRIBUTE, "attribute ", attribute, " is '", actual, "'");
  }
  /// The node lacks the integer attribute, or its value is one of `values`.
  Check& attr_is(std::string_view attribute, std::initializer_list<int64_t> values) {
    if (!ok() || !node_.has_attr(attribute)) return *this;
    const int64_t actual = node_.attr_i(attribute);
    for (const int64_t value : values) {
      if (actual == value) return *this;
    }
    return that(false, TENON_REJECT_ATTRIBUTE, "attribute ", attribute, " is ", actual);
  }
  template <class... Parts>
  Check& that(bool condition, uint32_t code, const Parts&... parts) {
    if (support_ && !condition) support_ = Support::no(code, cat(node_.op(), ": ", parts...));
    return *this;
  }

  bool ok() const { return static_cast<bool>(support_); }
  // NOLINTNEXTLINE(google-explicit-constructor): `return check(node)...;` reads well
  operator Support() const { return support_; }

 private:
  template <class... T>
  Check& value(std::string_view what, int i, const ValueView& v, TypeList<T...> types) {
    if (!ok() || !v.present()) return *this;
    if (v.kind() != TENON_KIND_TENSOR)
      return that(false, TENON_REJECT_TYPE, what, i, " ('", v.name(), "') is not a tensor");
    if (types.contains(v.dtype())) return *this;
    return that(false, TENON_REJECT_TYPE, what, i, " ('", v.name(), "') has element type ",
                dtype_name(v.dtype()), ", supported are ", type_names(types));
  }

  const NodeView& node_;
  Support support_ = Support::yes();
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_SUPPORT_HPP_
