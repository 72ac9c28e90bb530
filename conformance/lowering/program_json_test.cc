#include "conformance/lowering/program_json.h"

#include <memory>
#include <string>

#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

TEST(ProgramJsonTest, NumbersOfBodiesAreConstantsAndNoNodes) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      return (%c user_output)
    }
    graph t(%y: f32[2]) {
      %scalar: f32[] = edge.aten.full.default([], 2.5, dtype=dtype:f32)
      %full: f32[] = edge.aten.full.default([], 2.5, dtype=dtype:f32)
      %a: f32[2] = edge.aten.mul.Tensor(%y, %scalar)
      %b: f32[2] = edge.aten.mul.Tensor(%a, %full)
      return (%b)
    }
    graph f(%y: f32[2]) { return (%y) }
  })",
                                                         *ops);
  const exir::Graph& body = program.graphs[exir::GraphId(1)];
  ASSERT_EQ(NodesOf(body).size(), 3u);
  EXPECT_EQ(PlacesOf(body)[0].first, body.next(body.first()));
  const Json graphs = ProgramJson(program, {}, [](const auto&) { return 0; })["graphs"];
  const Json& entries = graphs["cond#0/true"];
  ASSERT_EQ(entries.size(), 5u);  // %y, full, mul, mul, output
  EXPECT_EQ(entries[1]["op"], "aten.full.default");
  EXPECT_EQ(entries[1]["id"], 0);
  const float value = 2.5F;
  const Json number = entries[2]["args"][1]["const"];
  EXPECT_EQ(number["sha256"], Sha256({reinterpret_cast<const std::byte*>(&value), sizeof(value)}));
  EXPECT_EQ(number["dtype"], "float32");
  EXPECT_TRUE(number["shape"].empty());
  EXPECT_EQ(entries[3]["args"][1]["node"], 0);
  EXPECT_EQ(graphs[""][2]["graphs"].dump(), R"({"true":"cond#0/true","false":"cond#0/false"})");
}

}  // namespace
}  // namespace belay::conformance
