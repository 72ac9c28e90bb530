#include "conformance/lowering/normal_form.h"

#include <memory>
#include <string>

#include "conformance/lowering/recording_text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

class NormalFormTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }
  exir::ExportedProgram Parse(std::string_view text) { return exir::ParseOrDie(text, *ops_); }
  static NormalForm Form(const exir::ExportedProgram& program) {
    return ToNormalForm(program, {}, [](const exir::LoweredBackendModule*) { return int64_t{0}; });
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

TEST_F(NormalFormTest, NumbersOfBodiesAreConstantsAndNoNodes) {
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
  EXPECT_EQ(NodesOf(body).size(), 3u);
  EXPECT_EQ(FindOccurrence(body, "aten.full.default", 0), body.next(body.first()));
  const NormalForm form = Form(program);
  ASSERT_EQ(form.graphs.size(), 3u);
  const Json::Array& entries = form.graphs[1].second;
  ASSERT_EQ(entries.size(), 5u);  // %y, full, mul, mul, output
  EXPECT_EQ(entries[1]["op"].text(), "aten.full.default");
  EXPECT_EQ(entries[1]["id"].number(), 0);
  const Json& number = entries[2]["args"].array().at(1)["const"];
  const float value = 2.5F;
  EXPECT_EQ(number["sha256"].text(),
            Sha256({reinterpret_cast<const std::byte*>(&value), sizeof(value)}));
  EXPECT_EQ(number["dtype"].text(), "float32");
  EXPECT_TRUE(number["shape"].array().empty());
  EXPECT_EQ(entries[3]["args"].array().at(1)["node"].number(), 0);
}

TEST_F(NormalFormTest, CallsListTheOutputsOfTheProgramInTheOrderOfItsNodes) {
  const exir::ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %r: f32[3] = higher_order.executorch_call_delegate(module#0, %x)
      return (%r user_output)
    }
    module#0 backend "b" specs [] { program edge {
      graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
        %s: f32[3] = edge.aten.full.default([3], 1.0)
        %m: f32[2] = edge.aten.add.Tensor(%b, %x)
        return (%m buffer_mutation "b", %s user_output)
      } } }
  })");
  EXPECT_EQ(Form(program).graphs[0].second.at(1)["type"].Dump(),
            R"([{"dtype":"float32","shape":[3]},{"dtype":"float32","shape":[2]}])");
}

TEST_F(NormalFormTest, OnlyResultOfADelegateThatIsNoTensorHasNoNumber) {
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
    const NormalForm form = Form(program);
    return form.graphs[0].second.back()["outputs"].array().at(0)["value"].Dump();
  };
  EXPECT_EQ(value("symint(s0)"), R"({"node":0})");
  EXPECT_EQ(value("symfloat(2.5)"), R"({"node":0})");
  EXPECT_EQ(value("f32[2]"), R"({"node":0,"out":0})");
}

TEST_F(NormalFormTest, DefaultsAreRecognisedByNumberButNoBoolIsANumber) {
  const auto arguments = [&](std::string_view call) {
    const exir::ExportedProgram program = Parse(absl::StrCat(R"(program edge {
      graph(%x: f32[2,3] user_input) {
        %r: f32[2,3] = edge.)",
                                                             call, R"(
        return (%r user_output)
      } })"));
    const Json entry = Form(program).graphs[0].second.at(1);
    return absl::StrCat(entry["args"].Dump(), entry["kwargs"].Dump());
  };
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1.0, 1.0)"), R"([{"input":0}]null)");
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1, 1)"), R"([{"input":0}]null)");
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1.0, 1.5)"), R"([{"input":0},-1,1.5]null)");
  EXPECT_EQ(arguments("aten.hardtanh.default(%x, -1, true)"), R"([{"input":0},-1,true]null)");
  EXPECT_EQ(arguments("aten.add.Tensor(%x, %x, alpha=1.0)"), R"([{"input":0},{"input":0}]null)");
  EXPECT_EQ(arguments("aten.add.Tensor(%x, %x, alpha=2.0)"),
            R"([{"input":0},{"input":0}]{"alpha":2})");
}

TEST_F(NormalFormTest, DivisionsOfSizesArePrintedAsInPython) {
  const auto size = [&](std::string_view expression) {
    const exir::ExportedProgram program = Parse(absl::StrCat(R"(program edge {
      graph(%x: f32[a,b] user_input, %y: f32[)",
                                                             expression, R"(] user_input) {
        return (%x user_output)
      } })"));
    return Form(program).graphs[0].second.at(1)["type"]["shape"].array().at(0).text();
  };
  EXPECT_EQ(size("FloorDiv(a, 2)"), "(d0//2)");
  EXPECT_EQ(size("FloorDiv(a, 2) + 1"), "((d0//2)) + 1");
  EXPECT_EQ(size("FloorDiv(a, 4)*4"), "4*((d0//4))");
  EXPECT_EQ(size("FloorDiv(a + 1, 2)"), "((d0 + 1)//2)");
  EXPECT_EQ(size("FloorDiv(a*b, 2)"), "((d0*d1)//2)");
  EXPECT_EQ(size("FloorDiv(a - 3, 2) + 1"), "(((d0 - 3)//2)) + 1");
  EXPECT_EQ(size("FloorDiv(a, FloorDiv(b, 3))"), "(d0//((d1//3)))");
  EXPECT_EQ(size("FloorDiv(a, 2)*FloorDiv(b, 2)"), "((d0//2))*((d1//2))");
  EXPECT_EQ(size("PythonMod(FloorDiv(a, 2), 3)"), "PythonMod((d0//2), 3)");
  EXPECT_EQ(size("Max(3, a)"), "Max(3, d0)");
}

TEST_F(NormalFormTest, FixedInputsHaveTheNamesOfTheirPythonTypes) {
  const exir::ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input, %i: const(4) constant_input,
          %f: const(4.5) constant_input, %b: const(true) constant_input,
          %s: const("add") constant_input, %n: const(none) constant_input) {
      return (%x user_output)
    } })");
  const Json::Array entries = Form(program).graphs[0].second;
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[1]["type"].Dump(), R"({"scalar":"int"})");
  EXPECT_EQ(entries[2]["type"].Dump(), R"({"scalar":"float"})");
  EXPECT_EQ(entries[3]["type"].Dump(), R"({"scalar":"bool"})");
  EXPECT_EQ(entries[4]["type"].Dump(), R"({"scalar":"str"})");
  EXPECT_TRUE(entries[5]["type"].is_null());
  EXPECT_NE(RecordingText(program, {}).find("input 1 scalar\n"), std::string::npos);
}

}  // namespace
}  // namespace belay::conformance
