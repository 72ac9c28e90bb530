// Programs with control flow, lowered by the pipeline and compared with the program as written.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/cpu_testing.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"

namespace belay::cpu {
namespace {

using ::testing::Contains;

class ControlFlowProgramsTest : public CpuTest {
 protected:
  // Lowers the program, expects these operators in the first delegate and `constants` tensors in
  // the program itself, and compares the calls with the interpreter.
  void ExpectSameLoops(std::string_view text, const exir::CallSequence& calls,
                       const std::string& op, size_t constants = 0) {
    const exir::ExportedProgram program = ParseWithNumbers(text, *ops_);
    auto interpreter = exir::Interpreter::Create(program, kernels_);
    ASSERT_OK(interpreter.status());
    const auto partitioner = Aot().create_partitioner(compile_specs_);
    exir::PipelineOptions options;
    options.backends = &set_;
    options.partitioners.all = {partitioner.get()};
    options.after_to_backend = [&](const exir::MethodPrograms& methods) {
      const exir::ExportedProgram& lowered = methods[0].second;
      ASSERT_GT(lowered.lowered_modules.size(), 0u) << exir::PrintProgram(lowered);
      EXPECT_THAT(OperatorsOf(lowered), Contains(op));
      EXPECT_EQ(lowered.state_dict.size() + lowered.constants.size(), constants)
          << exir::PrintProgram(lowered);
    };
    exir::MethodPrograms methods;
    methods.emplace_back("forward", program.Clone());
    const auto image = exir::LowerPrograms(std::move(methods), options);
    ASSERT_OK(image.status());
    const auto file = exir::OpenImage(*image);
    ASSERT_OK(file.status());
    auto method = Method::Load(*file, "forward", kernels_, registry_);
    ASSERT_OK(method.status());
    const auto want = exir::RunCalls(*interpreter, calls);
    ASSERT_OK(want.back().status);
    const auto got = exir::RunCalls(*method, calls);
    ASSERT_OK(got.back().status);
    EXPECT_EQ(exir::FirstDifference(want, got, kClose), "");
  }
};

// A recurrent cell. Its weight is transposed before the loop, and its bias is used as it is.
TEST_F(ControlFlowProgramsTest, ScanPacksWeightsOfItsSubgraph) {
  const std::string_view program = R"(program edge {
    ranges { s0: [0,9] }
    constants { state "w": f32[8,8] state "b": f32[8] }
    graph(%w: f32[8,8] parameter "w", %b: f32[8] parameter "b", %h: f32[1,8] user_input,
          %x: f32[s0,1,8] user_input) {
      %t: f32[8,8] = edge.aten.permute_copy.default(%w, [1,0])
      %c: f32[1,8], %y: f32[s0,1,8] = higher_order.scan(graph#1, [%h], [%x], [%t, %b])
      return (%c user_output, %y user_output)
    }
    graph step(%h: f32[1,8], %row: f32[1,8], %v: f32[8,8], %k: f32[8]) {
      %m: f32[1,8] = edge.aten.addmm.default(%k, %h, %v)
      %s: f32[1,8] = edge.aten.add.Tensor(%m, %row)
      %n: f32[1,8] = edge.aten.tanh.default(%s)
      return (%n, %n)
    } })";
  const auto call = [&](int64_t rows) -> std::vector<exir::OwnedValue> {
    std::vector<exir::OwnedValue> inputs;
    inputs.push_back(RandomTensor({1, 8}, random_));
    inputs.push_back(RandomTensor({rows, 1, 8}, random_));
    return inputs;
  };
  exir::CallSequence calls;
  for (const int64_t rows : {5, 9, 1, 0}) calls.push_back(call(rows));
  ExpectSameLoops(program, calls, "belay_cpu.linear.default");
}

// The condition does not use the weight. Carried values change places.
TEST_F(ControlFlowProgramsTest, WhileLoopPacksWeightsOfItsSubgraph) {
  exir::CallSequence calls(1);
  calls[0].push_back(Tensor(DType::kInt64, {}));
  calls[0].push_back(RandomTensor({2, 4}, random_));
  calls[0].push_back(RandomTensor({2, 4}, random_));
  ExpectSameLoops(R"(program edge {
    constants { state "w": f32[4,4] }
    graph(%w: f32[4,4] parameter "w", %i: i64[] user_input, %a: f32[2,4] user_input,
          %b: f32[2,4] user_input) {
      %j: i64[], %c: f32[2,4], %d: f32[2,4] = higher_order.while_loop(graph#1, graph#2, [%i, %a, %b], [%w])
      return (%j user_output, %c user_output, %d user_output)
    }
    graph test(%i: i64[], %a: f32[2,4], %b: f32[2,4], %v: f32[4,4]) {
      %p: b8[] = edge.aten.lt.Scalar(%i, 4)
      return (%p)
    }
    graph step(%i: i64[], %a: f32[2,4], %b: f32[2,4], %v: f32[4,4]) {
      %n: i64[] = edge.aten.add.Scalar(%i, 1)
      %m: f32[2,4] = edge.aten.mm.default(%a, %v)
      %s: f32[2,4] = edge.aten.sigmoid.default(%m)
      return (%n, %b, %s)
    } })",
                  calls, "belay_cpu.linear.default");
}

// The branch that is not delegated keeps the weight in the program.
TEST_F(ControlFlowProgramsTest, BranchesShareAWeight) {
  exir::CallSequence calls;
  for (const bool condition : {true, false}) {
    calls.emplace_back();
    calls.back().push_back(Tensor(DType::kBool, {}));
    calls.back()[0].tensor()->as<uint8_t>()[0] = condition ? 1 : 0;
    calls.back().push_back(RandomTensor({2, 4}, random_));
  }
  const auto program = [](std::string_view no) {
    return absl::StrCat(R"(program edge {
    constants { state "w": f32[4,4] }
    graph(%w: f32[4,4] parameter "w", %p: b8[] user_input, %x: f32[2,4] user_input) {
      %y: f32[2,4] = higher_order.cond(%p, graph#1, graph#2, [%x, %w])
      return (%y user_output)
    }
    graph yes(%x: f32[2,4], %v: f32[4,4]) {
      %m: f32[2,4] = edge.aten.mm.default(%x, %v)
      return (%m)
    }
    graph no(%x: f32[2,4], %v: f32[4,4]) {
      )",
                        no, R"(
      return (%r)
    } })");
  };
  ExpectSameLoops(program(R"(%m: f32[2,4] = edge.aten.mm.default(%x, %v)
      %r: f32[2,4] = edge.aten.relu.default(%m))"),
                  calls, "belay_cpu.linear.default");
  ExpectSameLoops(program(R"(%k: f32[1,4] = edge.aten.slice_copy.Tensor(%v, 0, 0, 1)
      %r: f32[2,4] = edge.aten.fmod.Tensor(%x, %k))"),
                  calls, "belay_cpu.linear.default", 1);
}

// Each row is a product with a nested branch inside.
TEST_F(ControlFlowProgramsTest, MapDelegatesNestedSubgraphs) {
  exir::CallSequence calls(1);
  calls[0].push_back(RandomTensor({3, 2, 4}, random_));
  ExpectSameLoops(R"(program edge {
    constants { state "w": f32[4,4] }
    graph(%w: f32[4,4] parameter "w", %x: f32[3,2,4] user_input) {
      %y: f32[3,2,4] = higher_order.map_impl(graph#1, [%x], [%w])
      return (%y user_output)
    }
    graph row(%x: f32[2,4], %v: f32[4,4]) {
      %s: f32[] = edge.aten.sum.default(%x)
      %p: b8[] = edge.aten.gt.Scalar(%s, 0)
      %y: f32[2,4] = higher_order.cond(%p, graph#2, graph#3, [%x, %v])
      return (%y)
    }
    graph yes(%x: f32[2,4], %u: f32[4,4]) {
      %m: f32[2,4] = edge.aten.mm.default(%x, %u)
      return (%m)
    }
    graph no(%x: f32[2,4], %u: f32[4,4]) {
      %m: f32[2,4] = edge.aten.mm.default(%x, %u)
      %n: f32[2,4] = edge.aten.neg.default(%m)
      return (%n)
    } })",
                  calls, "belay_cpu.linear.default");
}

}  // namespace
}  // namespace belay::cpu
