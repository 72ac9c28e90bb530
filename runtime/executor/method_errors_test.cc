#include "runtime/executor/method.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

// A kernel whose call rejects ints.
struct NumberCall {
  int64_t x = 0;
  static absl::StatusOr<NumberCall> Read(const KernelArguments& arguments) {
    NumberCall call;
    ABSL_ASSIGN_OR_RETURN(call.x, arguments.StaticInt("x"));
    return call;
  }
};
absl::Status Refuse(KernelContext&, const NumberCall&) {
  return absl::InvalidArgumentError("refused");
}
constexpr Kernel kRefuse[] = {
    KernelRow<&Refuse>("test.refuse.default", "x", "Refuse", KernelEngine::kReference)};

TEST_F(MethodTest, ListsEverythingMissing) {
  const uint32_t x = forward_.Input("x", DType::kInt64, {2});
  const uint32_t y = forward_.Arena(kF32, {2}), z = forward_.Arena(kF32, {2});
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "blob");
  forward_.Call("aten.conv.default", {x}, {y});
  forward_.Call("aten.conv.default", {y}, {z});
  forward_.Call("test.add.Tensor", {x, x}, {y});
  forward_.Delegate("npu", blob, {x}, {y});
  forward_.Delegate("dsp", blob, {x}, {y});
  forward_.Call("aten.attention.default", {z}, {y});
  EXPECT_THAT(
      Load(),
      StatusIs(kNotFound,
               "method 'forward' can't be run here: operator 'aten.attention.default' (1 call): no "
               "kernel; operator 'aten.conv.default' (2 calls): no kernel; operator "
               "'test.add.Tensor' (1 call): no kernel accepts (tensor i64[2], tensor i64[2]); "
               "backend 'dsp' (1 call): registered are 'fake'; backend 'npu' (1 call): registered "
               "are 'fake'; Belay's kernels are those of //runtime/kernels:standard_kernels"));
}

TEST_F(MethodTest, MissingBackendErrorListsRegisteredBackends) {
  const uint32_t x = forward_.Input("x", kF32, {2}), y = forward_.Arena(kF32, {2});
  forward_.Delegate("npu", program_.AddSegment(schema::Segment::DELEGATE, "blob"), {x}, {y});
  class Provided final : public FakeBackend {
    std::string_view id() const override { return "dsp"; }
    std::string_view target() const override { return "//backends/dsp:runtime"; }
  };
  const Provided dsp;
  ASSERT_OK(backends_.Add(&dsp));
  EXPECT_THAT(Load(), StatusIs(kNotFound, EndsWith("backend 'npu' (1 call): registered are 'dsp' "
                                                   "of //backends/dsp:runtime, 'fake'")));
  backends_ = BackendRegistry();
  EXPECT_THAT(Load(), StatusIs(kNotFound, EndsWith("backend 'npu' (1 call): registered are none")));
}

TEST_F(MethodTest, MissingOperatorErrorNamesFirstCall) {
  const uint32_t x = forward_.Input("x", kF32, {2}), y = forward_.Arena(kF32, {2});
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "blob");
  forward_.Call("test.add.Tensor", {x, x}, {y});
  schema::DebugInfo debug;
  schema::MethodDebugInfo* info = debug.add_methods();
  info->add_instructions()->set_node("add");
  for (int i = 0; i < 2; ++i) {
    forward_.Delegate("npu", blob, {x}, {y});
    info->add_instructions()->set_node(absl::StrCat("call_", i));
  }
  program_.AddDebugInfo(debug);
  EXPECT_THAT(Load(),
              StatusIs(kNotFound,
                       "method 'forward' can't be run here: backend 'npu' (2 calls, the first from "
                       "node 'call_0'): registered are 'fake'"));
}

TEST_F(MethodTest, MissingOperatorErrorIsTruncated) {
  for (int i = 100; i < 140; ++i) forward_.Call(absl::StrCat("aten.op_", i, ".default"), {}, {});
  EXPECT_THAT(Load(), StatusIs(kNotFound, AllOf(HasSubstr("'aten.op_131.default' (1 call): no "
                                                          "kernel; and 8 more"),
                                                Not(HasSubstr("op_132")))));
}

TEST_F(MethodTest, RejectsUnknownMethods) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  EXPECT_THAT(Method::Load(program, "train", kernels_, backends_),
              StatusIs(kNotFound, HasSubstr("unknown method 'train'")));
}

TEST_F(MethodTest, ErrorsNameInstructionAndSource) {
  forward_.None();
  forward_.Call("test.fail.default", {}, {});
  EXPECT_THAT(Load()->Execute(),
              StatusIs(absl::StatusCode::kInternal,
                       "method 'forward', instruction 0 ('test.fail.default'): out of luck"));
  schema::DebugInfo debug;
  schema::InstructionDebugInfo* info = debug.add_methods()->add_instructions();
  info->set_node("fail_1");
  info->set_source("model.py:12");
  info->set_module("layers.0");
  program_.AddDebugInfo(debug);
  EXPECT_THAT(
      Load()->Execute(),
      StatusIs(absl::StatusCode::kInternal,
               "method 'forward', instruction 0 ('test.fail.default') from node 'fail_1' at "
               "'model.py:12' in module 'layers.0': out of luck"));
}

TEST_F(MethodTest, DamagedDebugInfoIsIgnored) {
  forward_.Call("test.fail.default", {}, {});
  program_.metadata().set_debug_segment(
      program_.AddSegment(schema::Segment::DEBUG, "\xff\xff\xff") + 1);
  EXPECT_THAT(Load()->Execute(), StatusIs(absl::StatusCode::kInternal, HasSubstr("out of luck")));
}

// Debug information may be shorter than the method, or truncated within an instruction.
TEST_F(MethodTest, PartialDebugInfoIsShown) {
  forward_.Int(0);
  forward_.Move(forward_.Int(1), forward_.Slot(schema::ScalarSlot::INT));
  forward_.Call("test.fail.default", {}, {});
  const auto expect_no_source = [&] {
    EXPECT_THAT(Load()->Execute(),
                StatusIs(absl::StatusCode::kInternal,
                         "method 'forward', instruction 1 ('test.fail.default'): out of luck"));
  };
  const auto field = [](const std::string& bytes) {  // field number 1
    return std::string({'\x0a', static_cast<char>(bytes.size())}) + bytes;
  };
  const std::string move = field(field("move"));
  for (const std::string& instructions : {move, move + field(field("fail") + "\xff")}) {
    program_.metadata().set_debug_segment(
        program_.AddSegment(schema::Segment::DEBUG, field(instructions)) + 1);
    expect_no_source();
  }
}

TEST_F(MethodTest, SlotsKeepTheirKind) {
  const uint32_t x = forward_.Input("x", kF32, {1});
  const uint32_t tensor = forward_.Arena(kF32, {1});
  const uint32_t flag = forward_.Slot(schema::ScalarSlot::BOOL);
  const uint32_t zero = forward_.Int(0);
  const uint32_t call = forward_.Call("test.wrong_kind.default", {}, {tensor});
  schema::KernelCall* kernel =
      forward_.proto().mutable_instructions(static_cast<int>(call))->mutable_kernel();
  EXPECT_THAT(Load()->Execute(), StatusIs(absl::StatusCode::kFailedPrecondition));
  const TestTensor one = TestTensor::Of<float>({1}, {1});
  const auto run_twice = [&]() -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(Method method, Load());
    ABSL_RETURN_IF_ERROR(method.SetInput(0, one.view()));
    const absl::Status first = method.Execute();
    EXPECT_EQ(method.Execute(), first);
    return first;
  };
  EXPECT_THAT(run_twice(), StatusIs(kInvalid, HasSubstr("output 0: expected tensor f32[1], the "
                                                        "kernel computed string")));
  kernel->set_outputs(0, flag);
  EXPECT_THAT(run_twice(), StatusIs(kInvalid, HasSubstr("expected bool")));
  // Sets a bool slot to an int.
  forward_.proto().set_operators(0, "test.size.default");
  kernel->add_arguments(x);
  kernel->add_arguments(zero);
  forward_.JumpIfFalse(flag);
  EXPECT_THAT(run_twice(), StatusIs(kInvalid, HasSubstr("expected bool, the kernel computed int")));
}

// The failing condition is computed two instructions earlier, from two ints.
TEST_F(MethodTest, FailedAssertionsShowOperandsOfCondition) {
  ASSERT_OK(AddStandardKernels(kernels_));
  const uint32_t n = forward_.ScalarInput("n", schema::ScalarSlot::INT);
  const uint32_t f = forward_.ScalarInput("f", schema::ScalarSlot::DOUBLE);
  const uint32_t sum = forward_.Slot(schema::ScalarSlot::INT);
  const uint32_t other = forward_.Slot(schema::ScalarSlot::INT);
  const uint32_t less = forward_.Slot(schema::ScalarSlot::BOOL);
  const uint32_t less_f = forward_.Slot(schema::ScalarSlot::BOOL);
  forward_.Call("test.less.default", {n, forward_.Int(5)}, {less});
  forward_.Call("executorch_prim.lt.Scalar", {f, forward_.Double(5)}, {less_f});
  forward_.Call("test.add_int.default", {n, n}, {sum});
  forward_.Move(n, other);
  forward_.Call("aten._assert_scalar.default", {less, forward_.String("n is small")}, {});
  forward_.Call("aten._assert_scalar.default", {less_f, forward_.String("f is small")}, {});
  forward_.Call("test.refuse.default", {sum}, {other});
  ASSERT_OK(kernels_.Add(kRefuse));
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.SetInput(0, int64_t{7}));
  ASSERT_OK(method.SetInput(1, 7.0));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       EndsWith("n is small (test.less.default(7, 5) is false)")));
  // Values that are not integers are not shown.
  ASSERT_OK(method.SetInput(0, int64_t{3}));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition, EndsWith("f is small")));
  // Only assertions have a condition.
  ASSERT_OK(method.SetInput(1, 3.0));
  EXPECT_THAT(method.Execute(), StatusIs(kInvalid, EndsWith("refused")));
}

TEST_F(MethodTest, AssertionsOnInputsShowNoCondition) {
  ASSERT_OK(AddStandardKernels(kernels_));
  const uint32_t b = forward_.ScalarInput("b", schema::ScalarSlot::BOOL);
  const uint32_t none = forward_.None();
  forward_.Call("test.none.default", {none}, {none});
  const uint32_t call =
      forward_.Call("aten._assert_scalar.default", {b, forward_.String("b holds")}, {});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.SetInput(0, false));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition, EndsWith("b holds")));
  forward_.proto()
      .mutable_instructions(static_cast<int>(call))
      ->mutable_kernel()
      ->clear_arguments();
  ASSERT_OK_AND_ASSIGN(Method without, Load());
  ASSERT_OK(without.SetInput(0, false));
  EXPECT_THAT(without.Execute(), StatusIs(kInvalid, HasSubstr("'aten._assert_scalar.default')")));
}

TEST_F(MethodTest, DescribesSelectedKernels) {
  backends_ = BackendRegistry();
  FakeBackend fake;
  ASSERT_OK(backends_.Add(&fake));
  SampleIndices v;
  const TestProgram sample = SampleProgram(&v);
  std::string file = sample.Serialize();
  file.replace(file.find("blob"), 4, "add1");
  ASSERT_OK_AND_ASSIGN(const Method method, LoadFile(file));
  std::vector<std::string> lines;
  for (const InstructionInfo& info : method.instructions()) {
    lines.push_back(absl::StrCat(info.op, "/", info.kernel, "/", info.engine));
  }
  EXPECT_THAT(lines,
              ElementsAre("test.add.Tensor/Add/reference", "test.less.default/Less/reference",
                          "jump_if_false//", "move//", "delegate/fake/delegate",
                          "test.add_.Tensor/AddInPlace/reference", "jump//"));
}

TEST_F(MethodTest, DescribesScalarMoves) {
  const uint32_t slot = forward_.Slot(schema::ScalarSlot::INT);
  forward_.Move(forward_.Int(7), slot);
  forward_.Output(slot);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.Execute());
  const std::vector<InstructionInfo> instructions = method.instructions();
  ASSERT_EQ(instructions.size(), 1u);
  EXPECT_EQ(instructions[0].op, "move");
  ASSERT_EQ(instructions[0].arguments.size(), 1u);
  EXPECT_EQ(*instructions[0].arguments[0]->get_if<int64_t>(), 7);
  EXPECT_THAT(instructions[0].outputs, ElementsAre(&method.GetOutput(0)));
}

// Quotes its argument in its error.
struct QuoteCall {
  std::string_view text;
  static absl::StatusOr<QuoteCall> Read(const KernelArguments& arguments) {
    QuoteCall call;
    ABSL_ASSIGN_OR_RETURN(call.text, arguments.String("text"));
    return call;
  }
};
absl::Status Quote(KernelContext& context, const QuoteCall& call) {
  return absl::InvalidArgumentError(absl::StrCat("got '", call.text, "'"));
}
constexpr Kernel kQuote[] = {
    KernelRow<&Quote>("test.quote.default", "text", "Quote", KernelEngine::kReference)};

TEST_F(MethodTest, ErrorsEscapeControlCharacters) {
  ASSERT_OK(kernels_.Add(kQuote));
  forward_.Call("test.quote.default", {forward_.String("a\x1b[31m\r\tb\x7f")},
                {forward_.Arena(kF32, {1})});
  EXPECT_THAT(Load()->Execute(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("('test.quote.default'): got 'a?[31m?\tb?'")));
}

}  // namespace
}  // namespace belay
