// Files for viewers: Model Explorer, Graphviz, the page.
#include <regex>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/graph/dot.h"
#include "tools/graph/hostile_names.h"
#include "tools/graph/model_explorer.h"
#include "tools/graph/report_page.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// input → add (in a delegate) → cond with a subgraph → output; every string is or contains `name`.
DrawnProgram Drawn(const std::string& name) {
  DrawnGraph top{.name = ""};
  top.nodes.push_back({.name = name, .op = "input", .results = {{name, "f32[2]"}}});
  top.nodes[0].is_operator = false;
  top.nodes.push_back({.name = name + "1",
                       .op = "aten.add.Tensor",
                       .source = name,
                       .module = "layers.0." + name,
                       .operands = {{0, 0, "self"}, {0, 0, "other"}},
                       .results = {{name, "f32[2]"}, {"second", "i64[]"}},
                       .attributes = {{name, name}},
                       .delegate = 0,
                       .flops = 12});
  top.nodes.push_back({.name = "c",
                       .op = "higher_order.cond",
                       .operands = {{1, 1, "pred"}},
                       .results = {{"c", "f32[2]"}},
                       .bodies = {1}});
  DrawnGraph body{.name = name};
  body.nodes.push_back({.name = "a", .op = "input", .results = {{"a", "f32[2]"}}});
  DrawnMethod method{.name = "forward"};
  method.graphs = {top, body};
  method.delegates = {{name, 7}};
  method.constants = {{.name = name, .kind = "parameter", .type = "f32[2]", .bytes = 8}};
  return {method};
}

TEST(ModelExplorerTest, HasTheFieldsOfAGraphCollection) {
  const json file = ModelExplorerJson("net.pt2", Drawn("x"));
  EXPECT_EQ(file["label"], "net.pt2");
  ASSERT_EQ(file["graphs"].size(), 2u);
  EXPECT_EQ(file["graphs"][0]["id"], "forward");
  std::set<std::string> ids;
  for (const json& graph : file["graphs"]) EXPECT_TRUE(ids.insert(graph["id"]).second);
  const json& add = file["graphs"][0]["nodes"][1];
  EXPECT_EQ(add["id"], "1");
  EXPECT_EQ(add["label"], "aten.add.Tensor");
  EXPECT_EQ(add["namespace"], "layers/0/x");
  EXPECT_EQ(
      add["incomingEdges"],
      json::parse(R"([{"sourceNodeId": "0", "sourceNodeOutputId": "0", "targetNodeInputId": "0"},
                            {"sourceNodeId": "0", "sourceNodeOutputId": "0", "targetNodeInputId": "1"}])"));
  EXPECT_EQ(add["outputsMetadata"][1],
            json::parse(R"({"id": "1", "attrs": [{"key": "__tensor_tag", "value": "second"},
                                                 {"key": "tensor_shape", "value": "i64[]"}]})"));
  EXPECT_THAT(add["style"]["backgroundColor"].get<std::string>(), HasSubstr("#"));
  const json& cond = file["graphs"][0]["nodes"][2];
  EXPECT_EQ(cond["subgraphIds"], json::array({file["graphs"][1]["id"]}));
  for (const json& graph : file["graphs"]) {
    for (const json& node : graph["nodes"]) {
      for (const json& attribute : node["attrs"]) {
        EXPECT_TRUE(attribute["key"].is_string() && attribute["value"].is_string());
      }
    }
  }
}

TEST(DotTest, EmptySubgraphsHaveNoEdges) {
  DrawnProgram program = Drawn("x");
  EXPECT_THAT(DotText("net.pt2", program), HasSubstr("style=dashed"));
  program[0].graphs[1].nodes.clear();
  EXPECT_THAT(DotText("net.pt2", program), Not(HasSubstr("style=dashed")));
}

// All strings terminate correctly: without quoted strings, only DOT's own characters remain.
TEST(DotTest, QuotesAllStrings) {
  const std::string text = DotText(HostileName(), Drawn(HostileName()));
  EXPECT_THAT(text, AllOf(HasSubstr("m0g0n0 -> m0g0n1"), HasSubstr("label=\"f32[2]\""),
                          HasSubstr("m0g0n2 -> m0g1n0 [style=dashed"), HasSubstr("fillcolor=\"#")));
  const std::string bare = std::regex_replace(text, std::regex("\"([^\"\\\\]|\\\\.)*\""), "");
  EXPECT_THAT(bare, AllOf(Not(HasSubstr("script")), Not(HasSubstr("\"")), Not(HasSubstr("\\"))));
  EXPECT_EQ(text.find('\0'), std::string::npos);
}

TEST(ReportPageTest, DataCannotTerminateScript) {
  json data = DrawnProgramJson(Drawn(HostileName()));
  data["title"] = HostileName();
  const std::string page = ReportPage(data);
  constexpr char kBegin[] = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(kBegin);
  ASSERT_NE(begin, std::string::npos);
  const std::string rest = page.substr(begin + sizeof(kBegin) - 1);
  const std::string text = rest.substr(0, rest.find("</script>"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<")), Not(HasSubstr("&")), Not(HasSubstr("\xe2"))));
  const json read = json::parse(text, nullptr, false);
  ASSERT_FALSE(read.is_discarded());
  std::string shown = HostileName();
  shown.replace(shown.find('\xff'), 1, "\xef\xbf\xbd");
  EXPECT_EQ(read["title"], shown);
  EXPECT_EQ(read["methods"][0]["graphs"][0]["nodes"][0]["name"], shown);
}

TEST(ReportPageTest, IsSelfContained) {
  const std::string page = ReportPage(DrawnProgramJson({}));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("@DATA@")), Not(HasSubstr("@SCRIPT@")),
                          Not(HasSubstr("@STYLE@")), HasSubstr("default-src 'none'")));
  // The SVG namespace is a name, not a fetched address.
  const std::string code = std::regex_replace(page, std::regex("http://www.w3.org/2000/svg"), "");
  EXPECT_THAT(code, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")),
                          Not(HasSubstr("innerHTML")), Not(HasSubstr("eval("))));
}

TEST(ReportPageTest, ContainsDrawnProgram) {
  const json data = DrawnProgramJson(Drawn("x"));
  EXPECT_TRUE(data["colors"].contains("x"));
  const json& method = data["methods"][0];
  const json& add = method["graphs"][0]["nodes"][1];
  EXPECT_EQ(add, json::parse(R"({"name": "x1", "op": "aten.add.Tensor", "source": "x",
      "module": "layers.0.x", "delegate": 0, "flops": 12.0,
      "operands": [[0, 0, "self"], [0, 0, "other"]],
      "results": [["x", "f32[2]"], ["second", "i64[]"]], "attributes": [["x", "x"]]})"));
  EXPECT_EQ(method["constants"][0]["bytes"], 8);
  EXPECT_EQ(method["delegates"][0]["blob_bytes"], 7);
  EXPECT_EQ(method["graphs"][0]["nodes"][2]["bodies"], json::array({1}));
}

// A delegate may contain other delegates and subgraphs.
TEST(ReportPageTest, RecordsDelegates) {
  DrawnProgram program = Drawn("x");
  program[0].graphs[1].delegate = 0;
  program[0].delegates.push_back({"y", 3, "call", 0});
  program[0].constants[0].delegate = 1;
  const json method = DrawnProgramJson(program)["methods"][0];
  EXPECT_EQ(method["graphs"][0].contains("delegate"), false);
  EXPECT_EQ(method["graphs"][1]["delegate"], 0);
  EXPECT_EQ(method["delegates"], json::parse(R"([{"backend": "x", "blob_bytes": 7},
      {"backend": "y", "blob_bytes": 3, "call": "call", "inside": 0}])"));
  EXPECT_EQ(method["constants"][0]["delegate"], 1);
}

}  // namespace
}  // namespace belay::tools
