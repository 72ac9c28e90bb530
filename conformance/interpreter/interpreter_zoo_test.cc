// Compares the interpreter with PyTorch: models as exported, and as edge programs.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/models/manifest.h"
#include "conformance/models/model_runner.h"
#include "exir/compare/call.h"
#include "exir/import/import.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::conformance {
namespace {

constexpr std::string_view kZoo = "conformance/models/zoo";

// Models that cannot be executed, with the reason.
struct Exception {
  std::string_view model;
  std::string_view reason;
};
constexpr Exception kExceptions[] = {
    {"custom_operator", "an operator of the model's own, which has no kernel"},
};

std::vector<std::string> Models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kZoo)) {
    if (std::filesystem::exists(entry.path() / "model.pt2")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status RunCase(const std::string& folder, const ModelCase& model_case,
                     const Manifest& manifest, exir::Interpreter& interpreter) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<exir::OwnedValue> inputs, ReadInputs(folder, model_case));
  return CheckCase(folder, model_case, manifest,
                   exir::RunCall(interpreter, exir::ValuesOf(inputs)));
}

class InterpreterZooTest : public ::testing::TestWithParam<std::string> {
 protected:
  absl::Status RunModel(const Manifest& manifest, bool edge) {
    const std::string folder = std::string(kZoo) + "/" + GetParam();
    ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
    KernelRegistry kernels;
    ABSL_RETURN_IF_ERROR(AddReferenceKernels(kernels));
    ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram program,
                          exir::ImportFile(folder + "/model.pt2", *ops, {}));
    if (edge) {
      ABSL_ASSIGN_OR_RETURN(program, exir::ToEdge(std::move(program)));
    }
    ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                          exir::Interpreter::Create(program, kernels));
    for (size_t k = 0; k < manifest.cases.size(); ++k) {
      if (!manifest.stateful_sequence) ABSL_RETURN_IF_ERROR(interpreter.ResetState());
      const absl::Status status =
          RunCase(folder + "/case_" + std::to_string(k), manifest.cases[k], manifest, interpreter);
      if (!status.ok()) {
        return absl::Status(status.code(),
                            "case " + std::to_string(k) + ": " + std::string(status.message()));
      }
    }
    return absl::OkStatus();
  }
};

TEST_P(InterpreterZooTest, MatchesPyTorch) {
  const auto* exception = std::find_if(std::begin(kExceptions), std::end(kExceptions),
                                       [](const Exception& e) { return e.model == GetParam(); });
  ASSERT_OK_AND_ASSIGN(const Manifest manifest,
                       ReadManifest(std::string(kZoo) + "/" + GetParam() + "/manifest.json"));
  for (const bool edge : {false, true}) {
    SCOPED_TRACE(edge ? "edge program" : "program of the archive");
    const absl::Status status = RunModel(manifest, edge);
    if (exception == std::end(kExceptions)) {
      EXPECT_OK(status);
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << exception->reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, InterpreterZooTest, ::testing::ValuesIn(Models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay::conformance
