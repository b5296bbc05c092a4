#include "kernels/common/regex.h"

#include "kernels/common/regex_parser.h"

namespace tenon::cpu {
namespace {

using Node = RegexNode;
using NodePtr = RegexNodePtr;
using Range = Regex::Range;
using Set = Regex::Set;
using Place = Regex::Place;

constexpr size_t kMostInstructions = 100000;

/// Compiles the tree to instructions. The instructions of each node end by going on to the next instruction.
class Builder {
 public:
  Builder(std::vector<Regex::Instruction>& instructions, std::vector<Set>& sets)
      : instructions_(instructions), sets_(sets) {}

  void add(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kEmpty:
        return;
      case Node::Kind::kSet:
        sets_.push_back(node.set);
        emit({Regex::Op::kSet, {}, here() + 1, static_cast<int32_t>(sets_.size()) - 1});
        return;
      case Node::Kind::kPlace:
        emit({Regex::Op::kAssert, node.place, here() + 1, 0});
        return;
      case Node::Kind::kSequence:
        for (const NodePtr& part : node.parts) add(*part);
        return;
      case Node::Kind::kChoice:
        return add_choice(node);
      case Node::Kind::kRepeat:
        return add_repeat(node);
    }
  }
  int32_t emit(Regex::Instruction instruction) {
    require(instructions_.size() < kMostInstructions, TENON_INVALID_ARGUMENT, "the pattern is too long");
    instructions_.push_back(instruction);
    return here() - 1;
  }

 private:
  int32_t here() const { return static_cast<int32_t>(instructions_.size()); }
  Regex::Instruction& at(int32_t i) { return instructions_[static_cast<size_t>(i)]; }

  void add_choice(const Node& node) {
    std::vector<int32_t> ends;
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const bool last = i + 1 == node.parts.size();
      const int32_t split = last ? -1 : emit({Regex::Op::kSplit, {}, here() + 1, 0});
      add(*node.parts[i]);
      if (last) break;
      ends.push_back(emit({Regex::Op::kJump, {}, 0, 0}));
      at(split).other = here();
    }
    for (const int32_t end : ends) at(end).next = here();
  }

  void add_repeat(const Node& node) {
    for (int i = 0; i < node.least; ++i) add(*node.parts[0]);
    if (node.most < 0) {
      const int32_t split = emit({Regex::Op::kSplit, {}, here() + 1, 0});
      add(*node.parts[0]);
      emit({Regex::Op::kJump, {}, split, 0});
      at(split).other = here();
      return;
    }
    std::vector<int32_t> splits;
    for (int i = node.least; i < node.most; ++i) {
      splits.push_back(emit({Regex::Op::kSplit, {}, here() + 1, 0}));
      add(*node.parts[0]);
    }
    for (const int32_t split : splits) at(split).other = here();
  }

  std::vector<Regex::Instruction>& instructions_;
  std::vector<Set>& sets_;
};

bool holds(Place place, Regex::Text text, size_t at) {
  const bool begin = at == 0, end = at == text.size();
  const bool before = !begin && is_word(text[at - 1]), after = !end && is_word(text[at]);
  switch (place) {
    case Place::kTextBegin:
      return begin;
    case Place::kTextEnd:
      return end;
    case Place::kLineBegin:
      return begin || text[at - 1] == '\n';
    case Place::kLineEnd:
      return end || text[at] == '\n';
    case Place::kWordEdge:
      return before != after;
    case Place::kNoWordEdge:
      return before == after;
  }
  return false;
}

}  // namespace

bool Regex::Set::contains(char32_t c) const {
  if (c > kLastCodePoint) return false;
  const auto within = [this](char32_t x) {
    return std::any_of(ranges.begin(), ranges.end(), [x](Range r) { return x >= r.first && x <= r.last; });
  };
  const bool found =
      within(c) || (fold && (within(change_case(c, Case::kLower)) || within(change_case(c, Case::kUpper))));
  return found != negated;
}

/// The instructions that wait for the next code point, each once, with the start of its match. Earlier starts come
/// first.
struct Regex::States {
  struct Waiting {
    int32_t instruction;
    size_t start;
  };
  std::vector<Waiting> waiting;
  std::vector<int32_t> stack;
  std::vector<uint8_t> seen;
  std::optional<size_t> matched;  // earliest start of the matches that end here

  void clear(size_t instructions) {
    waiting.clear();
    seen.assign(instructions, 0);
    matched.reset();
  }
};

Regex::Regex(std::string_view pattern) {
  const NodePtr tree = parse_regex(pattern);
  Builder builder(instructions_, sets_);
  builder.add(*tree);
  builder.emit({Op::kMatch, {}, 0, 0});
}

void Regex::enter(int32_t first, size_t start, Text text, size_t at, States& states) const {
  states.stack.push_back(first);
  while (!states.stack.empty()) {
    const int32_t i = states.stack.back();
    states.stack.pop_back();
    if (std::exchange(states.seen[static_cast<size_t>(i)], uint8_t{1}) != 0) continue;
    const Instruction& instruction = instructions_[static_cast<size_t>(i)];
    switch (instruction.op) {
      case Op::kSet:
        states.waiting.push_back({i, start});
        break;
      case Op::kSplit:
        states.stack.push_back(instruction.other);
        states.stack.push_back(instruction.next);
        break;
      case Op::kJump:
        states.stack.push_back(instruction.next);
        break;
      case Op::kAssert:
        if (holds(instruction.place, text, at)) states.stack.push_back(instruction.next);
        break;
      case Op::kMatch:
        states.matched = start;
        break;
    }
  }
}

/// Consumes the code point at `at`.
void Regex::advance(const States& now, Text text, size_t at, States& next) const {
  next.clear(instructions_.size());
  for (const States::Waiting& w : now.waiting) {
    const Instruction& instruction = instructions_[static_cast<size_t>(w.instruction)];
    if (sets_[static_cast<size_t>(instruction.other)].contains(text[at]))
      enter(instruction.next, w.start, text, at + 1, next);
  }
}

bool Regex::matches(std::string_view utf8, CancelPoint<Context>& point) const {
  const std::vector<char32_t> text = decode_utf8(utf8);
  States now, next;
  now.clear(instructions_.size());
  enter(0, 0, text, 0, now);
  for (size_t at = 0; at < text.size(); ++at) {
    point.pass(static_cast<int64_t>(instructions_.size()));
    advance(now, text, at, next);
    std::swap(now, next);
    if (now.waiting.empty() && !now.matched) return false;
  }
  return now.matched.has_value();
}

std::optional<Regex::Found> Regex::find(Text text, size_t from, CancelPoint<Context>& point) const {
  std::optional<Found> best;
  States now, next;
  now.clear(instructions_.size());
  for (size_t at = from; at <= text.size(); ++at) {
    point.pass(static_cast<int64_t>(instructions_.size()));
    if (!best) enter(0, at, text, at, now);  // last: earlier matches keep the instructions that both reach
    if (now.matched && (!best || *now.matched <= best->begin)) best = Found{*now.matched, at};
    if (best) std::erase_if(now.waiting, [&](const States::Waiting& w) { return w.start > best->begin; });
    if (at == text.size() || (best && now.waiting.empty())) break;
    advance(now, text, at, next);
    std::swap(now, next);
  }
  return best;
}

bool Regex::may_be_empty() const {
  std::vector<uint8_t> seen(instructions_.size(), 0);
  std::vector<int32_t> stack = {0};
  while (!stack.empty()) {
    const int32_t i = stack.back();
    stack.pop_back();
    if (std::exchange(seen[static_cast<size_t>(i)], uint8_t{1}) != 0) continue;
    const Instruction& instruction = instructions_[static_cast<size_t>(i)];
    if (instruction.op == Op::kMatch) return true;
    if (instruction.op == Op::kSet) continue;
    stack.push_back(instruction.next);
    if (instruction.op == Op::kSplit) stack.push_back(instruction.other);
  }
  return false;
}

}  // namespace tenon::cpu
