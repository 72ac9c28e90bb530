#include "tools/belay/bundled_cases.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/bundled_program.h"
#include "exir/compare/call.h"
#include "exir/compare/compare.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/metadata_path.h"
#include "tools/belay/program_file.h"
#include "tools/belay/session.h"

namespace belay::tools {
namespace {

absl::StatusOr<pte::BundledProgram> ReadCases(const std::string& path,
                                              const VerifyOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  absl::StatusOr<pte::BundledProgram> bundled =
      pte::BundledProgram::Read(file->bytes(), options.limits.ForPrograms().limits);
  if (!bundled.ok()) return Annotate(bundled.status(), path);
  return bundled;
}

// Executes one case and adds its differences.
absl::Status RunCase(const pte::BundledCase& test, const std::string& place, Method& method,
                     Verification& result) {
  if (test.inputs.size() != method.plan().inputs.size() ||
      test.expected_outputs.size() != method.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": ", test.inputs.size(), " inputs and ", test.expected_outputs.size(),
        " outputs, the method has ", method.plan().inputs.size(), " and ", method.num_outputs()));
  }
  const exir::CallOutcome got = exir::RunCall(method, test.inputs);
  if (!got.status.ok()) return Annotate(got.status, place);
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    const TensorView* want = test.expected_outputs[i].get_if<TensorView>();
    if (want == nullptr) {
      return absl::UnimplementedError(absl::StrCat(place, ": expected_outputs[", i,
                                                   "]: ", test.expected_outputs[i].KindName(),
                                                   ", only tensors are compared"));
    }
    CompareOutput(result.calls, i, *want, got.outputs[i].value(), absl::StrCat(place, ", "),
                  result);
  }
  result.num_outputs += got.outputs.size();
  ++result.calls;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> IsBundledProgramAt(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  return pte::IsBundledProgram(file->bytes());
}

absl::StatusOr<Verification> VerifyBundledCases(const std::string& path,
                                                const VerifyOptions& options,
                                                const OnProgramOpened& opened) {
  ABSL_ASSIGN_OR_RETURN(const pte::BundledProgram bundled, ReadCases(path, options));
  // Converting delegates costs much more than loading a method.
  ABSL_ASSIGN_OR_RETURN(const Program program,
                        OpenProgramFile(path, OpenOptionsFor(options.limits.ForPrograms(),
                                                             options.data, options.payloads)));
  opened(program);
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddEngine(options.engine, kernels));
  Verification result;
  result.calls = 0;
  result.recorded = true;
  result.closeness = {.atol = options.atol, .rtol = options.rtol, .by_precision = true};
  for (const pte::BundledMethod& tests : bundled.methods()) {
    for (size_t i = 0; i < tests.cases.size(); ++i) {
      // Each case starts from the initial state.
      const absl::StatusOr<std::unique_ptr<Method>> method =
          LoadMethod(program, tests.name, kernels);
      if (!method.ok()) return Annotate(method.status(), path);
      const std::string place = absl::StrCat("method ", Quoted(tests.name), ", case ", i);
      ABSL_RETURN_IF_ERROR(RunCase(tests.cases[i], place, **method, result));
    }
  }
  return result;
}

}  // namespace belay::tools
