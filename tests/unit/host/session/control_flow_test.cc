// If, Loop, Scan and SequenceMap through a session.
#include <gmock/gmock.h>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(If, TakesABranchAndSeesOuterValues) {
  GraphMaker m;
  const auto cond = m.input("cond", GraphMaker::boolean({}));
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto twice = m.node("Add", {x, x});
  GraphMaker yes, no;
  yes.output(yes.node("Neg", {yes.capture(twice, "t")}), "a", GraphMaker::f32({ir::Dim("n")}));
  no.output(no.node("Mul", {no.capture(x, "u"), no.constant("ten", {1}, {10})}), "b",
            GraphMaker::f32({ir::Dim("n")}));
  const auto y =
      m.node("If", {cond},
             {Attribute::of_graph("then_branch", yes.graph), Attribute::of_graph("else_branch", no.graph)});
  m.output(m.node("Relu", {m.node("Neg", {y})}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_THAT(floats(run(*session, {{"cond", boolean(true)}, {"x", f32({2}, {1, 2})}})[0]),
                ElementsAre(2, 4));
    EXPECT_THAT(floats(run(*session, {{"cond", boolean(false)}, {"x", f32({3}, {-1, 2, -3})}})[0]),
                ElementsAre(10, 0, 30));
  }
}

TEST(If, BranchesMayDifferInShape) {
  GraphMaker m;
  const auto cond = m.input("cond", GraphMaker::boolean({}));
  GraphMaker yes, no;
  yes.output(yes.node("Identity", {yes.constant("one", {1}, {1})}), "a", GraphMaker::f32({1}));
  no.output(no.node("Identity", {no.constant("two", {2}, {2, 2})}), "b", GraphMaker::f32({2}));
  const auto y =
      m.node("If", {cond},
             {Attribute::of_graph("then_branch", yes.graph), Attribute::of_graph("else_branch", no.graph)});
  m.output(m.node("Add", {y, y}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(floats(run(*session, {{"cond", boolean(true)}})[0]), ElementsAre(2));
  EXPECT_THAT(floats(run(*session, {{"cond", boolean(false)}})[0]), ElementsAre(4, 4));
}

/// carried = carried + step each turn; scanned = carried; goes on while carried < limit.
std::string loop_model() {
  GraphMaker m;
  const auto trips = m.input("trips", GraphMaker::i64({}));
  const auto start = m.input("start", GraphMaker::f32({2}));
  const auto limit = m.input("limit", GraphMaker::f32({}));
  GraphMaker body;
  body.input("i", GraphMaker::i64({}));
  body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({2}));
  const auto next = body.node("Add", {carried, body.constant("step", {2}, {1, 2})});
  const auto largest = body.node("ReduceMax", {next}, {Attribute::of_int("keepdims", 0)});
  const auto go = body.node("Less", {largest, body.capture(limit, "limit_inside")});
  body.output(go, "go_on", GraphMaker::boolean({}));
  body.output(next, "next", GraphMaker::f32({2}));
  body.output(body.node("Identity", {next}), "seen", GraphMaker::f32({2}));
  const auto out = m.nodes("Loop", {trips, m.yes("at_first"), start}, 2,
                           {Attribute::of_graph("body", body.graph)}, "loop");
  m.output(out[0], "final");
  m.output(out[1], "all");
  return m.bytes();
}

TEST(Loop, RunsUntilTheTripCountOrTheCondition) {
  const auto session = make_session(loop_model());
  ASSERT_NE(session, nullptr);
  const auto go = [&](int64_t trips, float limit) {
    return run(*session,
               {{"trips", i64({}, {trips})}, {"start", f32({2}, {0, 0})}, {"limit", f32({}, {limit})}});
  };
  auto outputs = go(3, 100);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(3, 6));
  EXPECT_THAT(dims(outputs[1]), ElementsAre(3, 2));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(1, 2, 2, 4, 3, 6));
  outputs = go(100, 5);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(3, 6));
  outputs = go(0, 100);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(0, 0));
  EXPECT_THAT(dims(outputs[1]), ElementsAre(0, 2));
}

TEST(Loop, CarriedValuesMayGrow) {
  GraphMaker m;
  const auto trips = m.input("trips", GraphMaker::i64({}));
  const auto x = m.input("x", GraphMaker::f32({1}));
  GraphMaker body;
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({ir::Dim()}));
  const auto grown =
      body.node("Concat", {carried, body.capture(x, "x_inside")}, {Attribute::of_int("axis", 0)});
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(grown, "grown", GraphMaker::f32({ir::Dim()}));
  const auto out = m.node("Loop", {trips, ir::kNone, x}, {Attribute::of_graph("body", body.graph)});
  m.output(m.node("Neg", {out}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  for (int64_t trips_given : {0, 2, 4}) {
    const auto outputs = run(*session, {{"trips", i64({}, {trips_given})}, {"x", f32({1}, {7})}});
    EXPECT_THAT(floats(outputs[0]), testing::Each(-7));
    EXPECT_EQ(dims(outputs[0])[0], trips_given + 1);
  }
}

TEST(Loop, CarriesAnOptionalThatIsEmptyAtTheStart) {
  const ir::Type inner = GraphMaker::f32({ir::Dim()});
  const ir::Type optional = ir::Type::optional(inner);
  GraphMaker m, body, full, empty;
  const auto trips = m.input("trips", GraphMaker::i64({}));
  const auto start = m.input("start", optional);
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto held = body.input("held", optional);
  const auto one = body.constant("one", {1}, {1});
  full.output(full.node("Add", {full.node("OptionalGetElement", {full.capture(held, "h")}),
                                full.capture(one, "step")}),
              "next", inner);
  empty.output(empty.node("Identity", {empty.capture(one, "first")}), "next", inner);
  const auto next = body.node(
      "If", {body.node("OptionalHasElement", {held})},
      {Attribute::of_graph("then_branch", full.graph), Attribute::of_graph("else_branch", empty.graph)});
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(body.node("Optional", {next}), "kept", optional);
  const auto end = m.node("Loop", {trips, ir::kNone, start}, {Attribute::of_graph("body", body.graph)});
  m.output(m.node("OptionalHasElement", {end}), "has", GraphMaker::boolean({}));
  m.output(end, "end", optional);
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  const int64_t three = 3, none = 0;
  auto outputs = run(*session, {{"trips", tensor(TENON_INT64, {}, &three)}});
  ASSERT_EQ(outputs[1]->elements.size(), 1u);
  EXPECT_THAT(floats(outputs[1]->elements[0]), ElementsAre(3));
  outputs = run(*session, {{"trips", tensor(TENON_INT64, {}, &none)}});
  EXPECT_EQ(elements<uint8_t>(outputs[0])[0], 0);
  EXPECT_EQ(outputs[1]->kind(), uint32_t{TENON_KIND_OPTIONAL});
  EXPECT_TRUE(outputs[1]->elements.empty());
}

TEST(Loop, ErrorsNameTheWayToTheNode) {
  GraphMaker m;
  const auto trips = m.input("trips", GraphMaker::i64({}));
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto shape = m.input("shape", GraphMaker::i64({1}));
  GraphMaker body;
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({ir::Dim()}));
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(body.node("Reshape", {carried, body.capture(shape, "s")}, {}, "inner"), "next",
              GraphMaker::f32({ir::Dim()}));
  m.output(m.node("Loop", {trips, ir::kNone, x}, {Attribute::of_graph("body", body.graph)}, "outer"), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  std::vector<ValueRef> outputs(1);
  const std::vector<session::NamedValue> inputs = {
      {"trips", i64({}, {2})}, {"x", f32({2}, {1, 2})}, {"shape", i64({1}, {3})}};
  const std::string text = session->run({}, inputs, {}, outputs).to_string();
  EXPECT_THAT(text, HasSubstr("node 'outer' (Loop)"));
  EXPECT_THAT(text, HasSubstr("node 'inner' (Reshape)"));
}

TEST(Loop, CanBeCancelled) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({1}));
  GraphMaker body;
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({1}));
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(body.node("Neg", {carried}), "next", GraphMaker::f32({1}));
  m.output(m.node("Loop", {ir::kNone, m.yes("forever"), x}, {Attribute::of_graph("body", body.graph)}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  std::vector<ValueRef> outputs(1);
  const std::vector<session::NamedValue> inputs = {{"x", f32({1}, {1})}};
  session::RunOptions options;
  options.deadline_ns = 20'000'000;
  EXPECT_EQ(session->run(options, inputs, {}, outputs).kind(), ErrorKind::kDeadline);
  const uint32_t cancelled = 1;
  options = {};
  options.cancel = &cancelled;
  EXPECT_EQ(session->run(options, inputs, {}, outputs).kind(), ErrorKind::kCancelled);
}

/// state = state + x; scanned = state, along the given axes.
std::string scan_model(const std::vector<Attribute>& attributes, int64_t opset = 21) {
  GraphMaker m;
  const auto start = m.input("start", GraphMaker::f32({2}));
  const auto xs = m.input("xs", GraphMaker::f32({ir::Dim(), ir::Dim()}));
  GraphMaker body;
  const auto state = body.input("state", GraphMaker::f32({2}));
  const auto x = body.input("x", GraphMaker::f32({2}));
  const auto next = body.node("Add", {state, x});
  body.output(next, "next", GraphMaker::f32({2}));
  body.output(body.node("Identity", {next}), "seen", GraphMaker::f32({2}));
  std::vector<Attribute> all = attributes;
  all.push_back(Attribute::of_int("num_scan_inputs", 1));
  all.push_back(Attribute::of_graph("body", body.graph));
  const auto out = m.nodes("Scan", {start, xs}, 2, all);
  m.output(out[0], "final");
  m.output(out[1], "all");
  return m.bytes(opset);
}

TEST(Scan, WalksTheFirstAxis) {
  const auto session = make_session(scan_model({}));
  ASSERT_NE(session, nullptr);
  const auto outputs = run(*session, {{"start", f32({2}, {0, 0})}, {"xs", f32({3, 2}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_THAT(floats(outputs[0]), ElementsAre(9, 12));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(1, 2, 4, 6, 9, 12));
}

TEST(Scan, AxesAndDirections) {
  const auto session = make_session(scan_model(
      {Attribute::of_ints("scan_input_axes", {1}), Attribute::of_ints("scan_input_directions", {1}),
       Attribute::of_ints("scan_output_axes", {-1}), Attribute::of_ints("scan_output_directions", {1})}));
  ASSERT_NE(session, nullptr);
  const auto outputs = run(*session, {{"start", f32({2}, {0, 0})}, {"xs", f32({2, 3}, {1, 3, 5, 2, 4, 6})}});
  EXPECT_THAT(floats(outputs[0]), ElementsAre(9, 12));
  EXPECT_THAT(dims(outputs[1]), ElementsAre(2, 3));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(9, 8, 5, 12, 10, 6));
}

TEST(Sequence, IsMadeAndTakenApart) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto sequence = m.node("SequenceConstruct", {x, m.node("Neg", {x})});
  m.output(m.node("SequenceAt", {sequence, m.scalar("one", 1)}), "second");
  m.output(m.node("SequenceLength", {sequence}), "length");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  for (int turn = 0; turn < 2; ++turn) {
    const auto outputs = run(*session, {{"x", f32({2}, {1, 2})}});
    EXPECT_THAT(floats(outputs[0]), ElementsAre(-1, -2));
    EXPECT_THAT(elements<int64_t>(outputs[1]), ElementsAre(2));
  }
}

TEST(SequenceMap, RunsItsBodyForEachElement) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  const auto sequence = m.node("SequenceConstruct", {x, m.node("Neg", {x})});
  GraphMaker body;
  const auto element = body.input("element", GraphMaker::f32({ir::Dim()}));
  body.output(body.node("Add", {element, body.constant("one", {1}, {1})}), "more",
              GraphMaker::f32({ir::Dim()}));
  const auto mapped = m.node("SequenceMap", {sequence}, {Attribute::of_graph("body", body.graph)});
  m.output(m.node("ConcatFromSequence", {mapped}, {Attribute::of_int("axis", 0)}), "y");
  const auto session = make_session(m.bytes());
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(floats(run(*session, {{"x", f32({2}, {1, 2})}})[0]), ElementsAre(2, 3, 0, -1));
}

}  // namespace
}  // namespace tenon::test
