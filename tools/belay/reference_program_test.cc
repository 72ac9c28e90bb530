#include "tools/belay/reference_program.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/arena.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the state before the call; `body` computes the new state %a from %n and %x.
std::string Counter(std::string_view size, std::string_view body) {
  return absl::StrCat(R"(program edge {
    ranges { s0: [1, 8] }
    constants { state "n": f32[1] }
    graph(%n: f32[1] buffer "n", %x: f32[)",
                      size, R"(] user_input) {
      )",
                      body, R"(
      return (%a buffer_mutation "n", %n user_output)
    } })");
}

class ReferenceProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
  }
  static EdgeProgramSource Source(const exir::ExportedProgram& edge) {
    return [&edge] { return &edge; };
  }
  // Ones; the size is the call's number + 1.
  static absl::StatusOr<CallInputs> Ones(int call) {
    CallInputs inputs;
    NpyArray array;
    array.dtype = DType::kFloat32;
    array.sizes = Sizes{call + 1};
    ABSL_ASSIGN_OR_RETURN(array.data, AlignedBuffer::Create(array.view().nbytes()));
    for (int i = 0; i <= call; ++i) array.view().as<float>()[i] = 1;
    inputs.arrays.push_back(std::move(array));
    inputs.values.emplace_back(inputs.arrays[0].view());
    return inputs;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
};

TEST_F(ReferenceProgramTest, LookupTablesAreConstantsOfEmbeddings) {
  const auto program = exir::ParseOrDie(R"(program edge {
    constants { state "t": f32[9,4] state "w": f32[4,4] }
    graph(%t: f32[9,4] parameter "t", %w: f32[4,4] parameter "w", %i: i64[2] user_input,
          %x: f32[9,4] user_input) {
      %e: f32[2,4] = edge.aten.embedding.default(%t, %i)
      %m: f32[2,4] = edge.aten.mm.default(%e, %w)
      %s: f32[2,4] = edge.aten.index_select.default(%x, 0, %i)
      %a: f32[2,4] = edge.aten.add.Tensor(%m, %s)
      return (%a user_output)
    } })",
                                        *ops_);
  EXPECT_THAT(LookupTables(program),
              ElementsAre(program.FindConstant(program.signature.inputs[0])));
}

constexpr std::string_view kSum = "%a: f32[1] = edge.aten.sum.dim_IntList(%x, [0], true)";
constexpr std::string_view kCount = R"(%s: f32[1] = edge.aten.sum.dim_IntList(%x, [0], true)
      %a: f32[1] = edge.aten.add.Tensor(%n, %s))";

TEST_F(ReferenceProgramTest, InterpretsArchiveProgramIfPossible) {
  const auto archive = exir::ParseOrDie(Counter("s0", kSum), *ops_);
  const auto edge = exir::ParseOrDie(Counter("s0", kCount), *ops_);
  ASSERT_OK_AND_ASSIGN(ReferenceProgram reference,
                       ReferenceProgram::Create(archive, Source(edge), false, kernels_, &Ones));
  for (int call = 0; call < 3; ++call) {
    ASSERT_OK_AND_ASSIGN(const exir::CallOutcome done, reference.Run(call));
    EXPECT_THAT(ToVector<float>(*done.outputs[0].tensor()), ElementsAre(call));
  }
  EXPECT_EQ(reference.why_edge(), "");
}

TEST_F(ReferenceProgramTest, EdgeProgramContinuesWithEarlierState) {
  const auto archive = exir::ParseOrDie(Counter("1", kCount), *ops_);  // one element only
  const auto edge = exir::ParseOrDie(Counter("s0", kCount), *ops_);
  ASSERT_OK_AND_ASSIGN(ReferenceProgram reference,
                       ReferenceProgram::Create(archive, Source(edge), false, kernels_, &Ones));
  ASSERT_OK(reference.Run(0));
  EXPECT_EQ(reference.why_edge(), "");
  ASSERT_OK(reference.Run(1));
  EXPECT_THAT(reference.why_edge(), HasSubstr("interpreter: "));
  ASSERT_OK_AND_ASSIGN(const exir::CallOutcome done, reference.Run(2));
  EXPECT_THAT(ToVector<float>(*done.outputs[0].tensor()), ElementsAre(1 + 2));
  EXPECT_THAT(ToVector<float>(*done.state.at("n").tensor()), ElementsAre(1 + 2 + 3));
}

TEST_F(ReferenceProgramTest, UnimplementedIfNeitherProgramHasKernels) {
  const auto program = exir::ParseOrDie(Counter("s0", kCount), *ops_);
  const KernelRegistry none;
  EXPECT_THAT(ReferenceProgram::Create(program, Source(program), false, none, &Ones).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("interpreter: ")));
}

TEST_F(ReferenceProgramTest, ReturnsErrorsOfEdgeProgram) {
  const auto archive = exir::ParseOrDie(Counter("1", kCount), *ops_);
  for (const char* size : {"1", "2"}) {  // fails in this call, or in the one before
    const auto edge = exir::ParseOrDie(Counter(size, kCount), *ops_);
    ASSERT_OK_AND_ASSIGN(ReferenceProgram reference,
                         ReferenceProgram::Create(archive, Source(edge), false, kernels_, &Ones));
    ASSERT_OK(reference.Run(0));
    EXPECT_THAT(reference.Run(1),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("input 'x': size 0: expected ", size))));
    // No third program is available.
    EXPECT_EQ(reference.Run(1).ok(), std::string_view(size) == "2");
  }
}

TEST_F(ReferenceProgramTest, ConvertsToEdgeOnlyIfNeeded) {
  const auto archive = exir::ParseOrDie(Counter("s0", kCount), *ops_);
  const EdgeProgramSource none = []() -> absl::StatusOr<const exir::ExportedProgram*> {
    return absl::InternalError("no edge program");
  };
  ASSERT_OK_AND_ASSIGN(ReferenceProgram reference,
                       ReferenceProgram::Create(archive, none, false, kernels_, &Ones));
  ASSERT_OK(reference.Run(0));
  EXPECT_THAT(ReferenceProgram::Create(archive, none, true, kernels_, &Ones).status(),
              StatusIs(absl::StatusCode::kInternal, "no edge program"));
}

TEST_F(ReferenceProgramTest, InterpretsEdgeProgramWithRandomNumbers) {
  const auto archive = exir::ParseOrDie(Counter("s0", kSum), *ops_);
  const auto edge = exir::ParseOrDie(Counter("s0", kCount), *ops_);
  ASSERT_OK_AND_ASSIGN(const ReferenceProgram reference,
                       ReferenceProgram::Create(archive, Source(edge), true, kernels_, &Ones));
  EXPECT_THAT(reference.why_edge(), HasSubstr("random numbers"));
}

TEST_F(ReferenceProgramTest, ReportsMissingInputs) {
  const auto program = exir::ParseOrDie(Counter("s0", kCount), *ops_);
  const InputsOfCall inputs = [](int call) -> absl::StatusOr<CallInputs> {
    return absl::NotFoundError(absl::StrCat("no input of call ", call));
  };
  ASSERT_OK_AND_ASSIGN(ReferenceProgram reference,
                       ReferenceProgram::Create(program, Source(program), false, kernels_, inputs));
  EXPECT_THAT(reference.Run(0), StatusIs(absl::StatusCode::kNotFound, "no input of call 0"));
}

TEST_F(ReferenceProgramTest, JudgedOperatorsHaveOnlyReferenceKernels) {
  MethodPlan plan;
  plan.operators = {"aten.mm.default"};
  KernelRegistry registry = kernels_;
  ASSERT_OK(AddIndependentKernels(plan, registry));
  EXPECT_EQ(registry.Candidates("aten.mm.default").size(),
            kernels_.Candidates("aten.mm.default").size());
  KernelRegistry fast;
  ASSERT_OK(AddHighwayKernels(fast));
  EXPECT_EQ(
      registry.Candidates("aten.bmm.default").size(),
      kernels_.Candidates("aten.bmm.default").size() + fast.Candidates("aten.bmm.default").size());
}

}  // namespace
}  // namespace belay::tools
