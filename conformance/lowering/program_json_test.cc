#include "conformance/lowering/program_json.h"

#include <memory>
#include <string>

#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

class ProgramJsonTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }
  exir::ExportedProgram Parse(std::string_view text) { return exir::ParseOrDie(text, *ops_); }
  // The entries of a graph.
  Json Entries(const exir::ExportedProgram& program, const std::string& path = "") {
    return ProgramJson(program, {}, [](const auto&) { return 0; })["graphs"].at(path);
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

TEST_F(ProgramJsonTest, NumbersOfBodiesAreConstantsAndNoNodes) {
  const exir::ExportedProgram program = Parse(R"(program edge {
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
  })");
  const exir::Graph& body = program.graphs[exir::GraphId(1)];
  ASSERT_EQ(NodesOf(body).size(), 3u);
  EXPECT_EQ(PlacesOf(body)[0].first, body.next(body.first()));
  const Json entries = Entries(program, "cond#0/true");
  ASSERT_EQ(entries.size(), 5u);  // %y, full, mul, mul, output
  EXPECT_EQ(entries[1]["op"], "aten.full.default");
  EXPECT_EQ(entries[1]["id"], 0);
  const float value = 2.5F;
  const Json number = entries[2]["args"][1]["const"];
  EXPECT_EQ(number["sha256"], Sha256({reinterpret_cast<const std::byte*>(&value), sizeof(value)}));
  EXPECT_EQ(number["dtype"], "float32");
  EXPECT_TRUE(number["shape"].empty());
  EXPECT_EQ(entries[3]["args"][1]["node"], 0);
  EXPECT_EQ(Entries(program)[2]["graphs"].dump(),
            R"({"true":"cond#0/true","false":"cond#0/false"})");
}

TEST_F(ProgramJsonTest, TheOnlyResultOfADelegateIsTheNodeWhenItIsNoTensor) {
  const auto value = [&](std::string_view type) {
    const exir::ExportedProgram program = Parse(absl::StrCat(R"(program edge {
      ranges { s0: [1, 8] }
      graph(%n: symint(s0) user_input) {
        %r: )",
                                                             type, R"( =
            higher_order.executorch_call_delegate(module#0, %n)
        return (%r user_output)
      }
      module#0 backend "b" specs [] { program edge {
        ranges { s0: [1, 8] }
        graph(%n: symint(s0) user_input) { return (%n user_output) } } }
    })"));
    return Entries(program).back()["outputs"][0]["value"].dump();
  };
  EXPECT_EQ(value("symint(s0)"), R"({"node":0})");
  EXPECT_EQ(value("symfloat(2.5)"), R"({"node":0})");
  EXPECT_EQ(value("f32[2]"), R"({"node":0,"out":0})");
}

TEST_F(ProgramJsonTest, DefaultsAreRecognizedByNumberButNoBoolIsANumber) {
  const auto arguments = [&](std::string_view call) {
    const exir::ExportedProgram program = Parse(absl::StrCat(R"(program edge {
      graph(%x: f32[2,3] user_input) {
        %r: f32[2,3] = edge.)",
                                                             call, R"(
        return (%r user_output)
      } })"));
    const Json entry = Entries(program)[1];
    return entry["args"].dump() + Member(entry, "kwargs").dump();
  };
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1.0, 1.0)"), R"([{"input":0}]null)");
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1, 1)"), R"([{"input":0}]null)");
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1.0, 1.5)"), R"([{"input":0},-1.0,1.5]null)");
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1, true)"), R"([{"input":0},-1,true]null)");
  EXPECT_EQ(arguments("aten.add.Tensor(%x, %x, alpha=1.0)"), R"([{"input":0},{"input":0}]null)");
  EXPECT_EQ(arguments("aten.add.Tensor(%x, %x, alpha=2.0)"),
            R"([{"input":0},{"input":0}]{"alpha":2.0})");
}

TEST_F(ProgramJsonTest, FixedInputsHaveTheNamesOfTheirPythonTypes) {
  const exir::ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input, %i: const(4) constant_input,
          %f: const(4.5) constant_input, %b: const(true) constant_input,
          %s: const("add") constant_input, %n: const(none) constant_input) {
      return (%x user_output)
    } })");
  const Json entries = Entries(program);
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[1]["type"].dump(), R"({"scalar":"int"})");
  EXPECT_EQ(entries[2]["type"].dump(), R"({"scalar":"float"})");
  EXPECT_EQ(entries[3]["type"].dump(), R"({"scalar":"bool"})");
  EXPECT_EQ(entries[4]["type"].dump(), R"({"scalar":"str"})");
  EXPECT_TRUE(entries[5]["type"].is_null());
  EXPECT_NE(RecordingText(program, {}).find("input 1 scalar\n"), std::string::npos);
}

}  // namespace
}  // namespace belay::conformance
