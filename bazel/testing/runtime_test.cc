#include <set>
#include <string>
#include <vector>

#include "backends/runtime_backends.h"
#include "bazel/testing/both_runtime.h"
#include "bazel/testing/mlp_runtime.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"
#include "tools/belay/call_inputs.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMlp[] = "bazel/testing/mlp.belay", kLlama[] = "bazel/testing/llama.belay";

// Returns the outputs of a method for random inputs, as bytes of .npy files.
absl::StatusOr<std::vector<std::string>> Results(const Program& program, const std::string& name,
                                                 const KernelRegistry& kernels,
                                                 const BackendRegistry& backends) {
  ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(program, name, kernels, backends));
  ABSL_ASSIGN_OR_RETURN(const tools::CallInputs inputs,
                        tools::RandomInputs(method.plan(), /*seed=*/1, /*dynamic_size=*/4));
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs.values[i]));
  }
  ABSL_RETURN_IF_ERROR(method.Execute());
  std::vector<std::string> results;
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    const TensorView* tensor = method.GetOutput(i).get_if<TensorView>();
    if (tensor == nullptr) continue;
    ABSL_ASSIGN_OR_RETURN(results.emplace_back(), NpyBytes(*tensor));
  }
  return results;
}

// Lists the kernels of a method's calls, including calls inside delegates.
void AddOperators(const Method& method, std::set<std::string>& operators) {
  for (const InstructionInfo& info : method.instructions()) {
    if (info.method != nullptr) AddOperators(*info.method, operators);
    if (!info.engine.empty() && info.engine != "delegate") operators.emplace(info.op);
  }
}

TEST(RuntimeTest, MatchesAllKernels) {
  KernelRegistry all;
  ASSERT_OK(AddStandardKernels(all));
  for (const char* path : {kMlp, kLlama}) {
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(path));
    for (const MethodPlan& plan : program.methods()) {
      ASSERT_OK_AND_ASSIGN(const std::vector<std::string> want,
                           Results(program, plan.name, all, RuntimeBackends()));
      ASSERT_OK_AND_ASSIGN(
          const std::vector<std::string> got,
          Results(program, plan.name, testing::both::Kernels(), testing::both::Backends()));
      EXPECT_EQ(got, want) << path << ": " << plan.name;
    }
  }
}

TEST(RuntimeTest, HasOnlyOperatorsOfItsPrograms) {
  std::set<std::string> needed;
  for (const char* path : {kMlp, kLlama}) {
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(path));
    for (const MethodPlan& plan : program.methods()) {
      ASSERT_OK_AND_ASSIGN(
          const Method method,
          Method::Load(program, plan.name, testing::both::Kernels(), testing::both::Backends()));
      AddOperators(method, needed);
    }
  }
  const std::vector<std::string_view> held = testing::both::Kernels().Operators();
  EXPECT_EQ(std::vector<std::string>(held.begin(), held.end()),
            std::vector<std::string>(needed.begin(), needed.end()));
  EXPECT_THAT(testing::both::Backends().Ids(), ElementsAre("cpu"));
}

// Two runtimes in one binary are independent.
TEST(RuntimeTest, RejectsOtherProgramsWithMissingKernels) {
  ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(kLlama));
  const absl::Status status =
      Method::Load(program, "decode", testing::mlp::Kernels(), testing::mlp::Backends()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("operator 'aten."));
}

}  // namespace
}  // namespace belay
