#include "conformance/status/operator_status.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "conformance/ops/op_case.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::conformance {
namespace {

const CaseTensor* FirstTensor(const CaseValue& value) {
  if (const auto* tensor = std::get_if<CaseTensor>(&value)) return tensor;
  if (const auto* list = std::get_if<std::vector<std::optional<CaseTensor>>>(&value)) {
    for (const std::optional<CaseTensor>& tensor : *list) {
      if (tensor.has_value()) return &*tensor;
    }
  }
  return nullptr;
}

// Of the first tensor among the arguments, else among the results.
const CaseTensor* FirstTensor(const OpCase& c) {
  for (const CaseValue& value : c.args) {
    if (const CaseTensor* tensor = FirstTensor(value)) return tensor;
  }
  for (const auto& [name, value] : c.kwargs) {
    if (const CaseTensor* tensor = FirstTensor(value)) return tensor;
  }
  for (const CaseValue& value : *c.expect) {
    if (const CaseTensor* tensor = FirstTensor(value)) return tensor;
  }
  return nullptr;
}

std::string DTypes(const OpCaseFile& file) {
  std::set<DType> seen;
  for (const OpCase& c : file.cases) {
    if (!c.expect.has_value()) continue;
    if (const CaseTensor* tensor = FirstTensor(c)) seen.insert(tensor->dtype);
  }
  std::string text;
  for (DType dtype : seen) absl::StrAppend(&text, text.empty() ? "" : " ", DTypeShortName(dtype));
  return text;
}

}  // namespace

absl::StatusOr<std::string> OperatorStatus(const std::string& cases) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(cases, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  if (paths.empty()) return absl::NotFoundError(absl::StrCat("there are no vectors in ", cases));
  std::sort(paths.begin(), paths.end());
  size_t shapes = 0, references = 0, highways = 0;
  std::string rows;
  for (const std::string& path : paths) {
    ABSL_ASSIGN_OR_RETURN(const OpCaseFile file, ReadOpCaseFile(path));
    const exir::OpOverload* op = ops->Find(file.op);
    const bool shape = op != nullptr && op->has_meta_kernel();
    bool reference = false;
    std::string highway;
    for (const Kernel* kernel : kernels.Candidates(file.op)) {
      if (kernel->engine == KernelEngine::kReference) reference = true;
      if (kernel->engine == KernelEngine::kHighway) {
        absl::StrAppend(&highway, highway.empty() ? "" : " ", kernel->name);
      }
    }
    shapes += shape;
    references += reference;
    highways += !highway.empty();
    absl::StrAppend(&rows, "| ", file.op, " | ", shape ? "yes" : "no", " | ",
                    reference ? "yes" : "no", " | ", highway, " | ", DTypes(file), " |\n");
  }
  return absl::StrCat(
      "# Operators\n\n"
      "Written by `tools/bazel run //conformance/status`; a test compares. A row is an "
      "operator "
      "overload with vectors from PyTorch\n(`opcases/`). *Shape*: sizes, dtype and layout are "
      "inferred, symbolic sizes included. *Reference*: a plain kernel, compared with all vectors.\n"
      "*Highway*: the vectorized kernels, which take the calls that they are for; the reference "
      "kernel computes the rest. *Dtypes*: of the first tensor\nin the vectors that expect a "
      "result. There is no separate CPU backend: kernels run in the runtime.\n\n",
      paths.size(), " operators: ", shapes, " with shape inference, ", references,
      " with a reference kernel, ", highways,
      " with Highway kernels.\n\n"
      "| operator | shape | reference | Highway | dtypes |\n"
      "| --- | --- | --- | --- | --- |\n",
      rows);
}

}  // namespace belay::conformance
