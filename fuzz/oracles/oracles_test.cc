#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "exir/op_definition/schema.h"
#include "exir/symbolic/sym_expr.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "fuzz/oracles/round_trip.h"
#include "fuzz/oracles/typed_status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/fake_backend.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/executor/testing/test_kernels.h"

namespace belay::fuzz {
namespace {

using ::testing::HasSubstr;

TEST(RequireTest, AbortsOnViolation) {
  Require(absl::OkStatus());
  EXPECT_DEATH(Require(absl::InternalError("the moon is up")), "the moon is up");
}

TEST(TypedStatusTest, AcceptsSuccessAndDocumentedErrors) {
  EXPECT_OK(CheckTyped("open", absl::OkStatus(), kReaderCodes));
  EXPECT_OK(CheckTyped("open", absl::DataLossError("cut\n\tshort"), kReaderCodes));
  EXPECT_OK(CheckTyped("run", absl::OutOfRangeError("far"), kExecutionCodes));
}

TEST(TypedStatusTest, ReportsOtherErrors) {
  EXPECT_THAT(CheckTyped("open", absl::InternalError("oh"), kReaderCodes),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("open: an error of no documented kind: INTERNAL: oh")));
  EXPECT_THAT(CheckTyped("open", absl::OutOfRangeError("far"), kReaderCodes),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no documented kind")));
  EXPECT_THAT(CheckTyped("open", absl::DataLossError(""), kReaderCodes),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("without a message")));
  EXPECT_THAT(CheckTyped("open", absl::DataLossError(std::string(100000, 'x')), kReaderCodes),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("message of 100000 bytes")));
  EXPECT_THAT(CheckTyped("open", absl::DataLossError("red: \x1b[31m"), kReaderCodes),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("control characters")));
}

TEST(RoundTripTest, HoldsForPrintedValues) {
  for (const std::string_view text :
       {"2*s0 + 1", "FloorDiv(s0, 2)", "Eq(s0, 4)", "0.5*s", "Opaque() + 2*Opaque()"}) {
    ASSERT_OK_AND_ASSIGN(const exir::SymExpr expression, exir::ParseSymExpr(text));
    EXPECT_OK(CheckRoundTrip(expression));
  }
  ASSERT_OK_AND_ASSIGN(const exir::FunctionSchema schema,
                       exir::FunctionSchema::Parse("aten::relu_(Tensor(a!) self) -> Tensor(a!)"));
  EXPECT_OK(CheckRoundTrip(schema));
  EXPECT_OK(CheckRoundTrip(
      exir::ParseOrDie("program aten {\n  graph(%x: f32[2] user_input) {\n    return (%x "
                       "user_output)\n  }\n}\n",
                       exir::TestOps()),
      exir::TestOps()));
  NpyArray array;
  array.sizes = {2, 3};
  ASSERT_OK_AND_ASSIGN(array.data, AlignedBuffer::Create(24));
  EXPECT_OK(CheckRoundTrip(array));
  array.dtype = DType::kBFloat16;
  EXPECT_OK(CheckRoundTrip(array));  // NumPy lacks this type
}

TEST(RoundTripTest, ShowsBothStringsOnFailure) {
  EXPECT_THAT(CheckRoundTrip(exir::SymExpr::Function("a function", {exir::SymExpr(1)})),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("a function(1)")));
  exir::FunctionSchema schema;
  schema.ns = "aten";
  schema.op = "an operator";
  schema.overload = "default";
  EXPECT_THAT(CheckRoundTrip(schema),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("an operator")));
  NpyArray array;
  array.dtype = DType::kBool;
  array.sizes = {1};
  ASSERT_OK_AND_ASSIGN(array.data, AlignedBuffer::Create(1));
  *array.data.data() = std::byte{7};
  EXPECT_THAT(CheckRoundTrip(array), StatusIs(absl::StatusCode::kInternal));
}

class ExecutionTest : public ::testing::Test {
 protected:
  ExecutionTest() {
    EXPECT_OK(kernels_.Add(TestKernels()));
    EXPECT_OK(backends_.Add(&fake_));
  }
  Execution Run(const std::string& file) {
    ByteSource inputs("");
    return Execute(file, {.kernels = kernels_, .backends = backends_}, inputs);
  }

  KernelRegistry kernels_;
  FakeBackend fake_;
  BackendRegistry backends_;
};

TEST_F(ExecutionTest, ReachesLastStage) {
  std::string file = SampleProgram().Serialize();
  file.replace(file.rfind("blob"), 4, "add1");
  const Execution execution = Run(file);
  EXPECT_EQ(execution.stage, "execute");
  EXPECT_OK(execution.status);
  ByteSource inputs("");
  EXPECT_OK(CheckExecution(file, {.kernels = kernels_, .backends = backends_}, inputs));
}

TEST_F(ExecutionTest, ReportsStageOfFailure) {
  EXPECT_EQ(Run("").stage, "open");
  EXPECT_EQ(Run(SampleProgram().Serialize()).stage, "load");  // invalid blob
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Call("test.fail.default", {}, {});
  const Execution execution = Run(program.Serialize());
  EXPECT_EQ(execution.stage, "execute");
  EXPECT_THAT(execution.status, StatusIs(absl::StatusCode::kInternal));
}

TEST_F(ExecutionTest, StopsInfiniteLoops) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Jump(0);
  const Execution execution = Run(program.Serialize());
  EXPECT_THAT(execution.status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("executed_instructions")));
}

TEST_F(ExecutionTest, DoesNotAllocateBigInputs) {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  method.Output(method.Input("x", DType::kFloat32, {1 << 7, 1 << 7}));
  EXPECT_EQ(Run(program.Serialize()).stage, "input");
}

}  // namespace
}  // namespace belay::fuzz
