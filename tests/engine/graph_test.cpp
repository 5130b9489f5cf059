#include "engine/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plain_blocks.hpp"

namespace omnirt {
namespace {

using ::testing::HasSubstr;
using testing::Maker;
using testing::Taker;
using testing::two;

TEST(Graph, HasAnEdgeFromEachBlockThatCanMakeAValueToTheOneThatTakesIt) {
  BlockList list = two();
  insert_after(list, "maker", std::make_shared<Maker>("better", has("image")));
  BlockGraph whole = make_graph("all", list, {}, {}, true);
  ASSERT_EQ(whole.edges.size(), 4u);  // the prompt to both makers, and each of these to the taker
  BlockGraph plain = make_graph("plain", list, {}, {}, false);
  EXPECT_EQ(plain.nodes.size(), 2u);
  EXPECT_EQ(plain.edges.size(), 2u);
}

TEST(Graph, IsDrawnInThreeLanguages) {
  BlockList list = two();
  insert_after(list, "maker", std::make_shared<Maker>("better", has("image")));
  BlockGraph graph = make_graph("a <model>", list, {}, {}, true);
  for (const std::string& text : {to_dot(graph), to_mermaid(graph), to_svg(graph)}) {
    for (const char* part : {"maker", "taker", "number", "has(image)", "decode", "request"})
      EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(to_dot(graph), HasSubstr("b0 -> b2 [label=\"number\"]"));
  EXPECT_THAT(to_mermaid(graph), HasSubstr("b1 -->|number| b2"));
  EXPECT_THAT(to_svg(graph), HasSubstr("a &lt;model&gt;"));
}

}  // namespace
}  // namespace omnirt
