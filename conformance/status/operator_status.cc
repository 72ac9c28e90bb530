#include "conformance/status/operator_status.h"

#include <set>

#include "conformance/status/operator_index.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

// Returns the first tensor among the arguments, else among the results.
const CaseTensor* FirstTensorOfAll(const OpCase& op_case) {
  const CaseTensor* tensor = FirstTensor(op_case);
  for (const CaseValue& value : *op_case.expect) {
    if (tensor == nullptr) tensor = FirstTensor(value);
  }
  return tensor;
}

std::string DTypes(const OpCaseFile& file) {
  std::set<DType> seen;
  for (const OpCase& c : file.cases) {
    if (!c.expect.has_value()) continue;
    if (const CaseTensor* tensor = FirstTensorOfAll(c)) seen.insert(tensor->dtype);
  }
  std::string text;
  for (DType dtype : seen) absl::StrAppend(&text, text.empty() ? "" : " ", DTypeShortName(dtype));
  return text;
}

}  // namespace

std::string OperatorStatus(absl::Span<const OpCaseFile> files, const exir::OpRegistry& ops,
                           const KernelRegistry& kernels) {
  size_t shapes = 0, references = 0, highways = 0;
  std::string rows;
  for (const OpCaseFile& file : files) {
    const exir::OpOverload* op = ops.Find(file.op);
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
      files.size(), " operators: ", shapes, " with shape inference, ", references,
      " with a reference kernel, ", highways,
      " with Highway kernels.\n\n"
      "| operator | shape | reference | Highway | dtypes |\n"
      "| --- | --- | --- | --- | --- |\n",
      rows);
}

}  // namespace belay::conformance
