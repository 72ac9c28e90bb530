#include "conformance/models/model_runner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/engine/call.h"
#include "exir/engine/compare.h"
#include "runtime/core/annotate.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/program/program.h"

namespace belay::conformance {
namespace {

// The recorded array as a tensor of the leaf's own dtype, which NumPy may not have.
absl::StatusOr<TensorView> Recorded(const Leaf& leaf, const NpyArray& array) {
  TensorView view = array.view();
  if (leaf.kind == "tensor" && DTypeSize(view.dtype) == DTypeSize(leaf.dtype))
    view.dtype = leaf.dtype;
  return view;
}

absl::Status CheckLeaf(const std::string& folder, const Leaf& leaf, const EValue& got,
                       const Manifest& manifest) {
  if (leaf.kind == "none") {
    return got.is_none()
               ? absl::OkStatus()
               : absl::FailedPreconditionError(absl::StrCat("expected None, got ", got.KindName()));
  }
  if (leaf.file.empty())
    return absl::UnimplementedError(absl::StrCat("a result of kind ", leaf.kind, " has no file"));
  ABSL_ASSIGN_OR_RETURN(const NpyArray array, ReadNpyFile(absl::StrCat(folder, "/", leaf.file)));
  ABSL_ASSIGN_OR_RETURN(const TensorView want, Recorded(leaf, array));
  return exir::CompareRecorded(want, got, {.atol = manifest.atol, .rtol = manifest.rtol});
}

absl::Status RunCase(const std::string& folder, const ModelCase& model_case,
                     const Manifest& manifest, Method& method) {
  const MethodPlan& plan = method.plan();
  if (plan.inputs.size() != model_case.inputs.size()) {
    return absl::FailedPreconditionError(absl::StrCat("the program takes ", plan.inputs.size(),
                                                      " inputs, the case has ",
                                                      model_case.inputs.size()));
  }
  std::vector<NpyArray> inputs(model_case.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Leaf& leaf = model_case.inputs[i];
    EValue value = ConstantInput(plan, i);
    if (!leaf.file.empty() && InputTakesArray(plan, i)) {
      ABSL_ASSIGN_OR_RETURN(inputs[i], ReadNpyFile(absl::StrCat(folder, "/", leaf.file)));
      ABSL_ASSIGN_OR_RETURN(value, InputFromNpy(plan, i, inputs[i]));
    }
    ABSL_RETURN_IF_ERROR(method.SetInput(i, value));
  }
  ABSL_RETURN_IF_ERROR(method.Execute());
  if (method.num_outputs() != model_case.outputs.size()) {
    return absl::FailedPreconditionError(absl::StrCat("the program gives ", method.num_outputs(),
                                                      " outputs, the case has ",
                                                      model_case.outputs.size()));
  }
  for (size_t i = 0; i < model_case.outputs.size(); ++i) {
    const absl::Status status =
        CheckLeaf(folder, model_case.outputs[i], method.GetOutput(i), manifest);
    if (!status.ok()) return Annotate(status, absl::StrCat("output ", i));
  }
  for (const auto& [index, leaf] : model_case.inputs_after) {
    if (index >= inputs.size())
      return absl::InvalidArgumentError("inputs_after names an input that does not exist");
    ABSL_ASSIGN_OR_RETURN(const EValue after, InputFromNpy(plan, index, inputs[index]));
    const absl::Status status = CheckLeaf(folder, leaf, after, manifest);
    if (!status.ok()) return Annotate(status, absl::StrCat("input ", index, " after the call"));
  }
  for (const auto& [name, leaf] : model_case.buffers_after) {
    ABSL_ASSIGN_OR_RETURN(const TensorView state, method.GetState(name));
    const absl::Status status = CheckLeaf(folder, leaf, EValue(state), manifest);
    if (!status.ok()) return Annotate(status, absl::StrCat("buffer '", name, "' after the call"));
  }
  return absl::OkStatus();
}

// Of all recorded leaves: what a size that the program leaves unbounded gets as its bound.
int64_t LargestSize(const Manifest& manifest) {
  int64_t largest = 64;
  for (const ModelCase& model_case : manifest.cases) {
    for (const std::vector<Leaf>* leaves : {&model_case.inputs, &model_case.outputs}) {
      for (const Leaf& leaf : *leaves) {
        for (int64_t size : leaf.shape) largest = std::max(largest, size);
      }
    }
  }
  return largest;
}

}  // namespace

absl::Status RunCases(const std::string& folder, const Manifest& manifest, Method& method) {
  for (size_t k = 0; k < manifest.cases.size(); ++k) {
    if (!manifest.stateful_sequence) method.ResetState();
    const absl::Status status =
        RunCase(absl::StrCat(folder, "/case_", k), manifest.cases[k], manifest, method);
    if (!status.ok()) return Annotate(status, absl::StrCat("case ", k));
  }
  return absl::OkStatus();
}

absl::Status RunModel(const std::string& folder, const Manifest& manifest,
                      const std::string& archive, const Engine& engine) {
  exir::PipelineOptions pipeline = engine.pipeline;
  if (!pipeline.unbounded_size.has_value()) pipeline.unbounded_size = LargestSize(manifest);
  ABSL_ASSIGN_OR_RETURN(
      const exir::ProgramImage image,
      exir::LowerFiles({{"forward", absl::StrCat(folder, "/", archive)}}, *engine.ops, pipeline));
  ABSL_ASSIGN_OR_RETURN(const Program program, exir::OpenImage(image));
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(program, "forward", *engine.kernels, *engine.backends));
  return RunCases(folder, manifest, method);
}

}  // namespace belay::conformance
