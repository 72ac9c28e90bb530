// Writes the pages generated from the operators, in the checkout in which `bazel run` was called:
// conformance/STATUS.md, conformance/opcases/INDEX.md, and those of backends.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "conformance/backend/backend_status.h"
#include "conformance/status/operator_index.h"
#include "conformance/status/operator_status.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::conformance {
namespace {

using Page = std::pair<std::string, std::string>;  // path and contents

absl::StatusOr<std::vector<Page>> Pages(const std::string& folder) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<OpCaseFile> files, ReadOpCaseFiles(folder));
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  std::vector<Page> pages = {
      {"conformance/STATUS.md", OperatorStatus(files, *ops, kernels)},
      {"conformance/opcases/INDEX.md", OperatorIndex(files)},
  };
  for (const std::string backend : {"demo", "null"}) {
    const std::string package = absl::StrCat("backends/", backend);
    ABSL_ASSIGN_OR_RETURN(
        std::string text,
        BackendStatus(backend, folder, absl::StrCat("bazel run //", package, ":status")));
    pages.emplace_back(absl::StrCat(package, "/STATUS.md"), std::move(text));
  }
  return pages;
}

}  // namespace
}  // namespace belay::conformance

int main() {
  const auto pages = belay::conformance::Pages("conformance/opcases");
  if (!pages.ok()) {
    std::fprintf(stderr, "%s\n", pages.status().ToString().c_str());
    return 1;
  }
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::fputs("expected to be called by bazel run\n", stderr);
    return 2;
  }
  for (const auto& [path, text] : *pages) {
    const absl::Status written =
        belay::WriteFileAtomically(std::string(workspace) + "/" + path, {text});
    if (written.ok()) continue;
    std::fprintf(stderr, "%s\n", written.ToString().c_str());
    return 1;
  }
  return 0;
}
