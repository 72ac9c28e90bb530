// run_cases PROGRAM METHOD ATOL RTOL FOLDER…: calls the method with the inputs of each folder, all
// on one state, and compares the outputs. Exit status 0 if all are close, 1 if not, 2 if execution
// fails.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/runtime_backends.h"
#include "exir/compare/compare.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"
#include "tools/belay/call_inputs.h"

namespace belay {
namespace {

struct Test {
  std::string program, method;
  exir::Closeness closeness;
  std::vector<std::string> folders;
};

// Executes one call; returns the number of compared outputs. kFailedPrecondition: a difference.
absl::StatusOr<int> RunFolder(Method& method, const Test& test, const std::string& folder) {
  ABSL_ASSIGN_OR_RETURN(const tools::CallInputs inputs,
                        tools::InputsFromFolder(method.plan(), folder));
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs.values[i]));
  }
  ABSL_RETURN_IF_ERROR(method.Execute());
  int compared = 0;
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    const std::string path = absl::StrCat(folder, "/output_", i, ".npy");
    if (!std::filesystem::exists(path)) continue;
    ABSL_ASSIGN_OR_RETURN(const NpyArray want, ReadNpyFile(path));
    const absl::Status close =
        exir::CompareRecorded(want.view(), method.GetOutput(i), test.closeness);
    if (!close.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("output ", i, ": ", FromAbsl(close.message())));
    }
    ++compared;
  }
  if (compared == 0) {
    return absl::NotFoundError(absl::StrCat("expected ", folder, "/output_0.npy or a further one"));
  }
  return compared;
}

absl::StatusOr<int> RunAll(const Test& test) {
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(test.program));
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(program, test.method, kernels, RuntimeBackends()));
  int status = 0;
  for (const std::string& folder : test.folders) {
    const absl::StatusOr<int> compared = RunFolder(method, test, folder);
    if (compared.ok()) {
      std::printf("%s: %d outputs match\n", folder.c_str(), *compared);
      continue;
    }
    if (!absl::IsFailedPrecondition(compared.status())) return compared.status();
    std::printf("%s: %s\n", folder.c_str(), compared.status().ToString().c_str());
    status = 1;
  }
  return status;
}

int Main(int argc, char** argv) {
  Test test;
  if (argc < 6 || !absl::SimpleAtod(argv[3], &test.closeness.atol) ||
      !absl::SimpleAtod(argv[4], &test.closeness.rtol)) {
    std::fprintf(stderr, "usage: run_cases PROGRAM METHOD ATOL RTOL FOLDER…\n");
    return 2;
  }
  test.program = argv[1];
  test.method = argv[2];
  test.folders.assign(argv + 5, argv + argc);
  const absl::StatusOr<int> status = RunAll(test);
  if (status.ok()) return *status;
  std::fprintf(stderr, "run_cases: %s\n", status.status().ToString().c_str());
  return 2;
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) { return belay::Main(argc, argv); }
