// Compares the results of decompositions with PyTorch's.
#include <algorithm>
#include <string>
#include <vector>

#include "conformance/decompositions/case_program.h"
#include "conformance/differential/call_corpus.h"
#include "conformance/ops/op_case.h"
#include "conformance/ops/op_compare.h"
#include "exir/decompositions/decompose.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::conformance {
namespace {

using exir::ExportedProgram;

// Cases whose results differ from PyTorch's, with the reason.
struct Exception {
  std::string_view op, id, reason;
};
std::vector<Exception> Exceptions() {
  return {
#include "conformance/decompositions/exceptions.inc"
  };
}

absl::Status RunCase(const exir::OpOverload& op, const OpCase& op_case, const exir::OpRegistry& ops,
                     const KernelRegistry& kernels) {
  ABSL_ASSIGN_OR_RETURN(const SampleCall call, ToSampleCall(op, op_case));
  ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ProgramOf(op, call, op_case, ops));
  ABSL_ASSIGN_OR_RETURN([[maybe_unused]] const bool changed, exir::Decompose().run(program));
  for (const exir::NodeId id : program.top().nodes()) {
    if (exir::StandardDecompositions().Find(program.top().node(id).target) != nullptr) {
      return absl::InternalError("not decomposed: " + exir::DescribeNode(program.top(), id));
    }
  }
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter, exir::Interpreter::Create(program, kernels));
  std::vector<EValue> inputs;
  for (const SampleTensor& tensor : call.tensors) inputs.emplace_back(tensor.view());
  ABSL_ASSIGN_OR_RETURN(const std::vector<exir::OwnedValue> results, interpreter.Run(inputs));
  std::vector<CaseTensor> wanted;
  for (const CaseValue& want : *op_case.expect) {
    if (const auto* tensor = std::get_if<CaseTensor>(&want)) wanted.push_back(*tensor);
    if (const auto* list = std::get_if<std::vector<std::optional<CaseTensor>>>(&want)) {
      for (const auto& element : *list) wanted.push_back(*element);
    }
  }
  if (wanted.size() != results.size()) {
    return absl::FailedPreconditionError("another number of results");
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (results[i].tensor() == nullptr) return absl::FailedPreconditionError("no tensor");
    const Difference difference = CompareTensor(wanted[i], *results[i].tensor(), op_case);
    if (!difference.empty()) {
      return absl::FailedPreconditionError(difference + "\n" + exir::PrintProgram(program));
    }
  }
  return absl::OkStatus();
}

class DecompositionCasesTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    ops_ = exir::CreateStandardOps().value().release();
    kernels_ = new KernelRegistry();
    ASSERT_TRUE(AddReferenceKernels(*kernels_).ok());
  }
  static void TearDownTestSuite() {
    delete kernels_;
    delete ops_;
  }
  static exir::OpRegistry* ops_;
  static KernelRegistry* kernels_;
};
exir::OpRegistry* DecompositionCasesTest::ops_;
KernelRegistry* DecompositionCasesTest::kernels_;

TEST_P(DecompositionCasesTest, MatchesPyTorch) {
  ASSERT_OK_AND_ASSIGN(const OpCaseFile file, ReadOpCaseFile(std::string(kDecompositionCases) +
                                                             "/" + GetParam() + ".json"));
  const exir::OpOverload* op = ops_->Find(file.op);
  ASSERT_NE(op, nullptr) << file.op;
  EXPECT_NE(exir::StandardDecompositions().Find(op), nullptr) << file.op;
  const std::vector<Exception> exceptions = Exceptions();
  for (const OpCase& op_case : file.cases) {
    SCOPED_TRACE(file.op + " case " + op_case.id);
    const auto exception = std::find_if(
        exceptions.begin(), exceptions.end(),
        [&](const Exception& e) { return e.op == file.op && (e.id == op_case.id || e.id == "*"); });
    const absl::Status status = RunCase(*op, op_case, *ops_, *kernels_);
    if (exception == exceptions.end()) {
      EXPECT_OK(status);
    } else if (exception->id != "*") {
      EXPECT_FALSE(status.ok()) << "passes now: " << exception->reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DecompositionCasesTest,
                         ::testing::ValuesIn(DecompositionCaseFiles()),
                         [](const auto& info) { return TestNameOf(info.param); });

}  // namespace
}  // namespace belay::conformance
