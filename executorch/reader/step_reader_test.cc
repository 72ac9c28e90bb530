// Rules about instructions that open_program_refusals_test.cc does not cover: docs/pte-format.md §7
// to §9, §13.
#include "executorch/reader/step_reader.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kBroken = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kLimit = absl::StatusCode::kResourceExhausted;

struct BadStep {
  std::string name;
  std::function<void(Relu&)> damage;
  std::string message;
};

class BadStepTest : public ::testing::TestWithParam<BadStep> {};

TEST_P(BadStepTest, IsRejected) {
  Relu relu;
  GetParam().damage(relu);
  EXPECT_THAT(OpenPte(relu.Serialize()), StatusIs(kBroken, HasSubstr(GetParam().message)));
}

// y = op(x, value), where the value is of a kind that the operator does not accept.
BadStep Argument(std::string name, std::function<void(Relu&)> call, std::string message) {
  return {std::move(name), std::move(call), std::move(message)};
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, BadStepTest,
    ::testing::Values(
        Argument(
            "Text", [](Relu& p) { p.Call("aten::gelu", "out", {p.x, p.Int(1), p.y, p.y}); },
            "argument 'approximate' is Int, expected String"),
        Argument(
            "OptionalText",
            [](Relu& p) { p.Call("aten::div", "out_mode", {p.x, p.x, p.Int(1), p.y, p.y}); },
            "argument 'rounding_mode' is Int, expected String or Null"),
        Argument(
            "NullText", [](Relu& p) { p.Call("aten::gelu", "out", {p.x, p.Null(), p.y, p.y}); },
            "argument 'approximate' is Null, expected String"),
        Argument(
            "Scalar",
            [](Relu& p) {
              p.Call("aten::add", "Scalar_out", {p.x, p.String("1"), p.Int(1), p.y, p.y});
            },
            "argument 'other' is String, expected Int, Double or Bool"),
        Argument(
            "ScalarNull",
            [](Relu& p) { p.Call("aten::add", "Scalar_out", {p.x, p.Null(), p.Int(1), p.y, p.y}); },
            "argument 'other' is Null, expected Int, Double or Bool"),
        Argument(
            "OptionalScalar",
            [](Relu& p) { p.Call("aten::clamp", "out", {p.x, p.x, p.Null(), p.y, p.y}); },
            "argument 'min' is Tensor, expected Int, Double or Bool or Null"),
        Argument(
            "Bool", [](Relu& p) { p.Call("aten::glu", "out", {p.x, p.Bool(true), p.y, p.y}); },
            "argument 'dim' is Bool, expected Int"),
        Argument(
            "Ints", [](Relu& p) { p.Call("aten::view_copy", "out", {p.x, p.Int(6), p.y, p.y}); },
            "argument 'size' is Int, expected IntList"),
        Argument(
            "Doubles",
            [](Relu& p) {
              p.Call("aten::upsample_nearest2d", "vec_out",
                     {p.x, p.Null(), p.IntList({}), p.y, p.y});
            },
            "argument 'scale_factors' is IntList, expected DoubleList or Null"),
        Argument(
            "Tensors", [](Relu& p) { p.Call("aten::cat", "out", {p.x, p.Int(0), p.y, p.y}); },
            "argument 'tensors' is Tensor, expected TensorList"),
        Argument(
            "OptionalTensors",
            [](Relu& p) {
              p.Call("aten::index", "Tensor_out", {p.x, p.TensorList({p.x}), p.y, p.y});
            },
            "argument 'indices' is TensorList, expected OptionalTensorList"),
        Argument(
            "OptionalTensor",
            [](Relu& p) {
              p.Call("aten::clamp", "Tensor_out", {p.x, p.Int(1), p.Null(), p.y, p.y});
            },
            "argument 'min' is Int, expected Tensor or Null"),
        Argument(
            "Truths",
            [](Relu& p) {
              const int32_t list = p.IntList({}), no = p.Bool(false), one = p.Int(1);
              p.Call("aten::convolution_backward", "out",
                     {p.x, p.x, p.x, p.Null(), list, list, list, no, list, one, list, p.y, p.y, p.y,
                      list});
            },
            "argument 'output_mask' is IntList, expected BoolList"),
        Argument(
            "ViewToNumber",
            [](Relu& p) {
              p.Call("executorch_prim::et_view", "default", {p.x, p.IntList({p.Int(6)}), p.Int(0)});
            },
            "its result goes to a Int, expected Tensor"),
        Argument(
            "NumberToText", [](Relu& p) { p.Call("aten::sym_numel", "", {p.x, p.String("")}); },
            "its result goes to a String, expected Int, Double or Bool")),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Indices, BadStepTest,
    ::testing::Values(
        BadStep{"Operator",
                [](Relu& p) { p.instruction(0).instr_args.AsKernelCall()->op_index = -1; },
                "operator -1 does not exist, there are 1"},
        BadStep{"Delegate",
                [](Relu& p) {
                  p.Delegate("demo", "blob", {p.x, p.Tensor({2, 3})});
                  p.instruction(1).instr_args.AsDelegateCall()->delegate_index = -1;
                },
                "delegate -1 does not exist, there are 1"},
        BadStep{"DelegateArgument", [](Relu& p) { p.Delegate("demo", "blob", {p.x, -1}); },
                "argument 1: value -1 does not exist"},
        BadStep{"MoveFrom", [](Relu& p) { p.Move(-1, p.y); }, "move_from: value -1 does not exist"},
        BadStep{"MoveTo", [](Relu& p) { p.Move(p.y, -1); }, "move_to: value -1 does not exist"},
        BadStep{"Free", [](Relu& p) { p.Free(-1); }, "FreeCall: value -1 does not exist"},
        BadStep{"Jump", [](Relu& p) { p.JumpFalse(-1, 0); }, "cond_value_index: value -1"},
        BadStep{"JumpFarBack", [](Relu& p) { p.JumpFalse(p.Bool(false), INT32_MIN); },
                "destination -2147483648 is negative"},
        BadStep{"Overload", [](Relu& p) { p.method().operators[0]->overload.assign(100, 'o'); },
                "its name and overload have 10 and 100 bytes"},
        BadStep{"ContentAsInput", [](Relu& p) { p.Input(p.Constant({2}, {1, 2})); },
                "input 1: value 2 has content"}),
    [](const auto& info) { return info.param.name; });

TEST(StepReaderTest, ReportsAllBadArgumentsOfCall) {
  Relu relu;
  relu.Call("aten::add", "out", {relu.Int(1), relu.Null(), relu.x, relu.y, relu.y});
  EXPECT_THAT(OpenPte(relu.Serialize()),
              StatusIs(kBroken, AllOf(HasSubstr("chain 0, instruction 1 (aten::add.out): argument "
                                                "'self' is Int, expected Tensor"),
                                      HasSubstr("'other' is Null, expected Tensor"),
                                      HasSubstr("'alpha' is Tensor"))));
}

TEST(StepReaderTest, RejectsUnknownInstructionKind) {
  std::string file = Relu().Serialize();
  const auto* step =
      GetProgram(file.data())->execution_plan()->Get(0)->chains()->Get(0)->instructions()->Get(0);
  Put<uint8_t>(file, FieldIn(file, step, Instruction::VT_INSTR_ARGS_TYPE), 6);
  EXPECT_THAT(OpenPte(file), StatusIs(kBroken, HasSubstr("instruction 0: kind 6 is unknown")));
}

// ExecuTorch accepts numbers of any kind for a Scalar.
TEST(StepReaderTest, ScalarArgumentsAcceptAnyKind) {
  for (const bool real : {false, true}) {
    Relu relu;
    const int32_t z = relu.Tensor({2, 3});
    const int32_t other = real ? relu.Double(1.5) : relu.Bool(true);
    relu.Call("aten::add", "Scalar_out", {relu.x, other, relu.Int(1), z, z});
    EXPECT_OK(OpenPte(relu.Serialize()));
  }
}

TEST(StepReaderTest, DelegatesCountAsMetadata) {
  Relu relu;
  for (int i = 0; i < 100; ++i) {
    relu.method().delegates.push_back(std::make_unique<BackendDelegateT>());
  }
  std::string file = relu.Serialize();
  // One delegate, with a four-byte reference per entry.
  ShareFirst(file, *GetProgram(file.data())->execution_plan()->Get(0)->delegates());
  EXPECT_OK(OpenPte(file));
  belay::Program::Options options;
  options.limits.metadata_bytes = 6000;
  ASSERT_LT(file.size(), 6000u);
  EXPECT_THAT(OpenPte(file, options),
              StatusIs(kLimit, HasSubstr("the instructions of method 'forward'")));
}

// --- Outputs among the operands of a delegate call ---

std::vector<uint32_t> OutputsOf(const Relu& relu, size_t instruction) {
  const absl::StatusOr<belay::Program> program = OpenPte(relu.Serialize());
  EXPECT_OK(program);
  if (!program.ok()) return {};
  const MethodPlan& method = program->methods()[0];
  const auto& call = std::get<DelegateCallPlan>(method.instructions[instruction]);
  const absl::Span<const uint32_t> outputs = method.outputs_of(call.operands);
  return {outputs.begin(), outputs.end()};
}

TEST(StepReaderTest, DelegateOutputsAreTrailingUnwrittenTensors) {
  const auto outputs = [](std::function<int32_t(Relu&)> before) {
    Relu relu;
    const int32_t a = relu.Tensor({2, 3}), b = relu.Tensor({2, 3});
    const int32_t last_read = before(relu);
    const auto instruction = static_cast<size_t>(relu.next_instruction());
    relu.Delegate("demo", "blob", {last_read, a, b});
    relu.Output(b);
    return OutputsOf(relu, instruction).size();
  };
  EXPECT_EQ(outputs([](Relu& p) { return p.x; }), 2u);                       // an input
  EXPECT_EQ(outputs([](Relu& p) { return p.y; }), 2u);                       // written before
  EXPECT_EQ(outputs([](Relu& p) { return p.Int(1); }), 2u);                  // not a tensor
  EXPECT_EQ(outputs([](Relu& p) { return p.Constant({1}, {1}); }), 2u);      // a constant
  EXPECT_EQ(outputs([](Relu& p) { return p.Buffer({1}, {1}); }), 2u);        // with content
  EXPECT_EQ(outputs([](Relu& p) { return p.Tensor({2, 3}); }), 3u);          // none of these
  EXPECT_EQ(outputs([](Relu& p) { return p.TensorList({p.x, p.y}); }), 2u);  // a list
}

TEST(StepReaderTest, ViewIsNotDelegateOutput) {
  Relu relu;
  const int32_t view = relu.Unplanned({6}), a = relu.Tensor({2, 3});
  relu.Call("executorch_prim::et_view", "default", {relu.y, relu.IntList({relu.Int(6)}), view});
  relu.Delegate("demo", "blob", {view, a});
  relu.Output(a);
  const absl::StatusOr<belay::Program> program = OpenPte(relu.Serialize());
  ASSERT_OK(program);
  // The view aliases y, which needs no instruction.
  EXPECT_THAT(OutputsOf(relu, program->methods()[0].instructions.size() - 1), ElementsAre(a));
}

TEST(StepReaderTest, DelegateMayHaveOnlyOutputs) {
  Relu relu;
  const int32_t a = relu.Tensor({2, 3});
  relu.Delegate("demo", "blob", {a});
  relu.Output(a);
  EXPECT_THAT(OutputsOf(relu, 1), ElementsAre(a));
}

}  // namespace
}  // namespace belay::pte
