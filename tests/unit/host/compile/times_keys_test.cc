#include "host/compile/times_keys.h"

#include <gmock/gmock.h>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using runtime::WayName;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr partition::ProviderIndex kHost = partition::kNoProvider;

ir::Graph graph(const std::string& names, ir::Dim rows, bool constant = true, int64_t axis = 1,
                bool swapped = false) {
  GraphMaker m;
  const auto x = m.input(names + "x", GraphMaker::f32({rows, 2}));
  const auto w =
      constant ? m.constant(names + "w", {1, 2}, {1, 2}) : m.input(names + "w", GraphMaker::f32({1, 2}));
  const auto sum = m.node("Concat", swapped ? std::vector{w, x} : std::vector{x, w},
                          {ir::Attribute::of_int("axis", axis)}, names + "n");
  m.output(m.node("Relu", {sum}, {}, names + "r"), names + "y");
  return std::move(m.graph);
}

std::string work(const ir::Graph& of) {
  return runtime::name_of_work(of, of.node((*of.topological_order())[0]));
}
std::string whole(const ir::Graph& of) { return runtime::name_of_graph(of, *of.topological_order()); }

TEST(TimesKeys, NamesHaveNoInfluenceAndWorkHas) {
  const ir::Graph one = graph("a", 3);
  for (const auto& name : {work, whole}) {
    EXPECT_EQ(name(one), name(graph("b", 3)));
    EXPECT_NE(name(one), name(graph("a", 4))) << "another shape";
    EXPECT_NE(name(one), name(graph("a", 3, false))) << "not a constant";
    EXPECT_NE(name(one), name(graph("a", 3, true, 0))) << "another attribute";
    EXPECT_NE(name(one), name(graph("a", ir::Dim("n")))) << "no number";
    EXPECT_EQ(name(graph("a", ir::Dim("m"))), name(graph("a", ir::Dim("n"))));
  }
}

TEST(TimesKeys, GraphsAreToldApartByTheirConnections) {
  const auto squares = [](bool crossed) {
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({2})), y = m.input("y", GraphMaker::f32({2}));
    const auto first = m.node("Mul", {x, y});
    m.output(m.node("Sub", crossed ? std::vector{first, x} : std::vector{x, first}), "z");
    return std::move(m.graph);
  };
  EXPECT_NE(whole(squares(false)), whole(squares(true)));
}

TEST(TimesKeys, InstancesAreToldApartByOptionsAndThreads) {
  const std::string bytes = [] {
    GraphMaker m;
    m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y");
    return m.bytes();
  }();
  const auto instance = [&](const char* setting) {
    config::Config config = cpu_config();
    EXPECT_TRUE(assign(config, setting).ok()) << setting;
    return make_session(bytes, config)->assembly()->selection.instances[0];
  };
  const auto plain = instance("provider.cpu.options.islands=\"on\"");
  const std::string key = runtime::key_of_instance(*plain, 2);
  EXPECT_EQ(key, runtime::key_of_instance(*instance("provider.cpu.options.islands=\"on\""), 2));
  EXPECT_NE(key, runtime::key_of_instance(*instance("provider.cpu.options.islands=\"off\""), 2));
  EXPECT_NE(key, runtime::key_of_instance(*instance("precision.default=\"bf16\""), 2));
  EXPECT_NE(key, runtime::key_of_instance(*plain, 1));
  EXPECT_THAT(key, HasSubstr(plain->device().info().name));
  EXPECT_THAT(key, HasSubstr(plain->device().provider()->build_id()));
  EXPECT_THAT(key, HasSubstr(plain->device().provider()->library_sha256()));
  const std::vector one{plain}, two{plain, plain};
  EXPECT_NE(runtime::name_of_instances(one), runtime::name_of_instances(two));
  EXPECT_NE(runtime::key_of_graph("g", 1), runtime::key_of_graph("g", 2));
  EXPECT_NE(runtime::key_of_graph("g", 1), runtime::key_of_graph("h", 1));
}

TEST(TimesKeys, WaysHaveNames) {
  const WayName way{"instances", "graph", {0, 1, kHost, 1}};
  EXPECT_EQ(way.text(), "instances:graph:01.1");
  EXPECT_EQ(WayName::parse(way.text()), way);
  EXPECT_EQ(WayName::parse("::"), WayName());
  for (const char* text : {"", "i", "i:g", "i:g:01\n1", "i:g:0:x:1 ", "i:g:\x7f"})
    EXPECT_EQ(WayName::parse(text), std::nullopt) << text;
  EXPECT_THAT((WayName{"i", "g", {0, 5000}}).text(), IsEmpty()) << "more instances than there are characters";
}

}  // namespace
}  // namespace tenon::test
