// BeamSearch and GreedySearch: decoders made here, run to the end.
#include <gmock/gmock.h>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;
using testing::ElementsAre;
using testing::HasSubstr;

/// The next token depends on the last one alone, by a table: 0 goes to 1, 1 to 2, 2 to 3, which is the end.
std::string beam_search_model(int64_t model_type = 0, const char* search = "BeamSearch") {
  const auto ints = [](const std::vector<ir::Dim>& dims) {
    return GraphMaker::type(ir::ElementType::kInt32, dims);
  };
  const ir::Dim rows("rows"), some("some"), any;
  GraphMaker d;
  const auto tokens = d.input("tokens", ints({rows, some}));
  d.input("positions", ints({rows, some}));
  d.input("mask", ints({rows, any}));
  const auto past = d.input("past", GraphMaker::f32({2, rows, 1, any, 1}));
  const auto table = d.constant("table", {4, 4}, {0, 9, 1, 0, 0, 0, 9, 1, 1, 0, 0, 9, 9, 0, 0, 1});
  d.output(d.node("Gather", {table, tokens}), "logits", GraphMaker::f32({rows, some, 4}));
  const auto keys = d.node("Unsqueeze", {d.node("Cast", {tokens}, {Attribute::of_int("to", TENON_FLOAT32)}),
                                         d.ints("axes", {0, 2, 4})});
  const auto both = d.node("Concat", {keys, keys}, {Attribute::of_int("axis", 0)});
  d.output(d.node("Concat", {past, both}, {Attribute::of_int("axis", 3)}), "present",
           GraphMaker::f32({2, rows, 1, any, 1}));
  GraphMaker m;
  std::vector<GraphMaker::Id> inputs = {m.input("prompts", ints({any, any}))};
  const bool beams = std::string_view(search) == "BeamSearch";
  for (const char* name : {"max_length", "min_length", "num_beams", "returned"}) {
    if (beams || inputs.size() == 1) inputs.push_back(m.input(name, ints({1})));
  }
  const auto found =
      m.nodes(search, inputs, beams ? 2 : 1,
              {Attribute::of_graph("decoder", d.graph), Attribute::of_int("eos_token_id", 3),
               Attribute::of_int("pad_token_id", 7), Attribute::of_int("model_type", model_type)},
              "search");
  m.graph.mutable_node(0).domain = "com.microsoft";
  m.output(found[0], "sequences");
  if (beams) m.output(found[1], "worths");
  return m.bytes();
}

TEST(BeamSearch, FollowsTheDecoder) {
  const auto session = make_session(beam_search_model());
  ASSERT_NE(session, nullptr);
  const auto i32 = [](const std::vector<int64_t>& dims, const std::vector<int32_t>& values) {
    return tensor(TENON_INT32, dims, values.data());
  };
  std::vector<session::NamedValue> inputs = {{"prompts", i32({2, 1}, {0, 1})},
                                             {"max_length", i32({1}, {6})},
                                             {"min_length", i32({1}, {0})},
                                             {"num_beams", i32({1}, {2})},
                                             {"returned", i32({1}, {1})}};
  const auto outputs = run(*session, inputs);
  EXPECT_THAT(dims(outputs[0]), ElementsAre(2, 1, 6));
  EXPECT_THAT(elements<int32_t>(outputs[0]), ElementsAre(0, 1, 2, 7, 7, 7, 1, 2, 7, 7, 7, 7));
  EXPECT_THAT(dims(outputs[1]), ElementsAre(2, 1));

  std::vector<ValueRef> none(2);
  inputs[4].value = i32({1}, {3});
  EXPECT_THAT(session->run({}, inputs, {}, none).to_string(),
              HasSubstr("node 'search' (com.microsoft.BeamSearch): num_return_sequences is 3, but must be "
                        "between 1 and num_beams = 2"));
  inputs[4].value = i32({1}, {1});
  inputs[1].value = i32({1}, {1});
  EXPECT_THAT(session->run({}, inputs, {}, none).to_string(), HasSubstr("max_length 1 leaves no room"));
  inputs[1].value = i32({1}, {2'000'000'000});
  inputs[3].value = i32({1}, {2'000'000'000});
  EXPECT_EQ(session->run({}, inputs, {}, none).code(), StatusCode::kResourceExhausted);
}

/// An encoder and a decoder of T5's form with one layer. The next token depends on the last one plus the first of the
/// encoder's ids, modulo 4, by the same table. `first_step`: the encoder says the first one.
std::string encoder_search_model(bool first_step, const std::vector<Attribute>& more = {}) {
  const auto ints = [](const std::vector<ir::Dim>& dims) {
    return GraphMaker::type(ir::ElementType::kInt32, dims);
  };
  const ir::Dim rows("rows"), length("length"), some("some"), any;
  const auto scores = [](GraphMaker& g, GraphMaker::Id tokens, GraphMaker::Id first) {
    const auto table = g.constant("table", {4, 4}, {0, 9, 1, 0, 0, 0, 9, 1, 1, 0, 0, 9, 9, 0, 0, 1});
    const auto sum = g.node("Add", {g.node("Cast", {tokens}, {Attribute::of_int("to", TENON_INT64)}), first});
    return g.node("Gather", {table, g.node("Mod", {sum, g.ints("four", {4})})});
  };
  const auto cache = [](GraphMaker& g, GraphMaker::Id tokens, const char* axes) {
    return g.node("Unsqueeze",
                  {g.node("Cast", {tokens}, {Attribute::of_int("to", TENON_FLOAT32)}), g.ints(axes, {1, 3})});
  };
  const auto cached = GraphMaker::f32({rows, 1, any, 1});
  GraphMaker e;
  const auto ids = e.input("encoder_input_ids", ints({rows, length}));
  e.input("encoder_attention_mask", ints({rows, length}));
  if (first_step) {
    const auto start = e.input("decoder_input_ids", ints({rows, some}));
    const auto first =
        e.node("Gather", {e.node("Cast", {ids}, {Attribute::of_int("to", TENON_INT64)}), e.ints("zero", {0})},
               {Attribute::of_int("axis", 1)});
    e.output(scores(e, start, first), "logits", GraphMaker::f32({rows, some, 4}));
    e.output(e.node("Unsqueeze",
                    {e.node("Cast", {ids}, {Attribute::of_int("to", TENON_FLOAT32)}), e.ints("last", {2})}),
             "encoder_hidden_states", GraphMaker::f32({rows, length, 1}));
    for (const char* name : {"present_key_self_0", "present_value_self_0"})
      e.output(e.node("Identity", {cache(e, start, name)}), name, cached);
  }
  for (const char* name : {"present_key_cross_0", "present_value_cross_0"})
    e.output(e.node("Identity", {cache(e, ids, name)}), name, cached);

  GraphMaker d;
  const auto tokens = d.input("input_ids", ints({rows, 1}));
  d.input("encoder_attention_mask", ints({rows, length}));
  if (first_step) d.input("encoder_hidden_states", GraphMaker::f32({rows, length, 1}));
  const GraphMaker::Id past[] = {d.input("past_key_self_0", cached), d.input("past_value_self_0", cached)};
  d.input("past_key_cross_0", cached);
  const auto cross = d.input("past_value_cross_0", cached);
  const auto first =
      d.node("Gather", {d.node("Squeeze", {cross, d.ints("ones", {1, 3})}), d.ints("zero", {0})},
             {Attribute::of_int("axis", 1)});
  d.output(scores(d, tokens, d.node("Cast", {first}, {Attribute::of_int("to", TENON_INT64)})), "logits",
           GraphMaker::f32({rows, 1, 4}));
  for (const size_t i : {0u, 1u}) {
    const char* name = i == 0 ? "present_key_self_0" : "present_value_self_0";
    d.output(d.node("Concat", {past[i], cache(d, tokens, name)}, {Attribute::of_int("axis", 2)}), name,
             cached);
  }
  GraphMaker m;
  std::vector<GraphMaker::Id> inputs = {m.input("ids", ints({any, any}))};
  for (const char* name : {"max_length", "min_length", "num_beams", "returned"})
    inputs.push_back(m.input(name, ints({1})));
  std::vector<Attribute> attributes = more;
  const auto add = [&attributes](Attribute attribute) {
    const bool there = std::any_of(attributes.begin(), attributes.end(),
                                   [&](const Attribute& a) { return a.name == attribute.name; });
    if (!there) attributes.push_back(std::move(attribute));
  };
  add(Attribute::of_graph("encoder", e.graph));
  add(Attribute::of_graph("decoder", d.graph));
  for (const auto& [name, value] : std::map<std::string, int64_t>{
           {"eos_token_id", 3}, {"pad_token_id", 7}, {"model_type", 1}, {"decoder_start_token_id", 0}})
    add(Attribute::of_int(name, value));
  const auto found = m.nodes("BeamSearch", inputs, 2, attributes, "search");
  m.graph.mutable_node(0).domain = "com.microsoft";
  m.output(found[0], "sequences");
  m.output(found[1], "worths");
  return m.bytes();
}

TEST(BeamSearch, FollowsTheDecoderBehindAnEncoder) {
  const auto i32 = [](const std::vector<int64_t>& dims, const std::vector<int32_t>& values) {
    return tensor(TENON_INT32, dims, values.data());
  };
  for (const bool first_step : {false, true}) {
    const auto session = make_session(encoder_search_model(first_step));
    ASSERT_NE(session, nullptr);
    const std::vector<session::NamedValue> inputs = {{"ids", i32({2, 2}, {0, 5, 1, 5})},
                                                     {"max_length", i32({1}, {6})},
                                                     {"min_length", i32({1}, {0})},
                                                     {"num_beams", i32({1}, {2})},
                                                     {"returned", i32({1}, {1})}};
    const auto outputs = run(*session, inputs);
    EXPECT_THAT(dims(outputs[0]), ElementsAre(2, 1, 6));
    // The first entry goes 0, 1, 2 and ends; the second from 0 to 2 and back, as its ids begin with 1.
    EXPECT_THAT(elements<int32_t>(outputs[0]), ElementsAre(0, 1, 2, 7, 7, 7, 0, 2, 0, 2, 0, 2))
        << "first_step " << first_step;
  }
}

TEST(GreedySearch, TakesTheBestWordAndPadsBehindTheEnd) {
  const auto i32 = [](const std::vector<int64_t>& dims, const std::vector<int32_t>& values) {
    return tensor(TENON_INT32, dims, values.data());
  };
  const auto session = make_session(beam_search_model(0, "GreedySearch"));
  ASSERT_NE(session, nullptr);
  std::vector<session::NamedValue> inputs = {{"prompts", i32({2, 1}, {0, 0})}, {"max_length", i32({1}, {6})}};
  const auto outputs = run(*session, inputs);
  EXPECT_THAT(dims(outputs[0]), ElementsAre(2, 6));
  EXPECT_THAT(elements<int32_t>(outputs[0]), ElementsAre(0, 1, 2, 7, 7, 7, 0, 1, 2, 7, 7, 7));
  inputs[1].value = i32({1}, {1});
  std::vector<ValueRef> none(1);
  EXPECT_THAT(session->run({}, inputs, {}, none).to_string(), HasSubstr("max_length 1 leaves no room"));
}

TEST(GreedySearch, AnEncoderIsNotOfItsForm) {
  const Status status = try_session(beam_search_model(1, "GreedySearch")).status();
  EXPECT_EQ(status.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(status.to_string(), HasSubstr("attribute model_type is 1"));
}

TEST(BeamSearch, WhatDoesNotFitIsToldAtLoad) {
  GraphMaker none;
  none.output(none.constant("c", {1}, {1}), "c", GraphMaker::f32({1}));
  const auto text = [](const std::string& model) { return try_session(model).status().to_string(); };
  EXPECT_THAT(
      text(encoder_search_model(false, {Attribute::of_graph("encoder", none.graph)})),
      HasSubstr("node 'search' (com.microsoft.BeamSearch): attribute 'encoder': a graph with 0 inputs"));
  EXPECT_THAT(text(encoder_search_model(false, {Attribute::of_graph("decoder", none.graph)})),
              HasSubstr("attribute 'decoder': a graph with 1 outputs"));
  EXPECT_THAT(text(encoder_search_model(false, {Attribute::of_int("model_type", 0)})),
              HasSubstr("attribute 'encoder' belongs to model_type 1 (T5) and 2 (Whisper)"));
  EXPECT_THAT(text(encoder_search_model(false, {Attribute::of_int("model_type", 2)})),
              HasSubstr("attribute 'encoder' gives 2 values; for the decoder's 1 layer they must be 6"));
  EXPECT_THAT(text(encoder_search_model(false, {Attribute::of_int("decoder_start_token_id", -1)})),
              HasSubstr("attribute 'decoder_start_token_id' is missing"));
  EXPECT_THAT(text(beam_search_model(1)), HasSubstr("attribute 'decoder_start_token_id' is missing"));
}

TEST(BeamSearch, OtherFormsAreDeclinedAtLoad) {
  EXPECT_EQ(try_session(beam_search_model(3)).status().kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tenon::test
