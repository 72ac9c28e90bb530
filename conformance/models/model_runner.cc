#include "conformance/models/model_runner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/compare/call.h"
#include "exir/compare/compare.h"
#include "runtime/core/annotate.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/io/npy_values.h"
#include "runtime/program/program.h"

namespace belay::conformance {
namespace {

// Returns the array in the dtype of the leaf, which NumPy may lack.
TensorView AsLeaf(const NpyArray& array, const Leaf& leaf) {
  TensorView view = array.view();
  if (leaf.kind == "tensor" && DTypeSize(view.dtype) == DTypeSize(leaf.dtype)) {
    view.dtype = leaf.dtype;
  }
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
  return exir::CompareRecorded(AsLeaf(array, leaf), got,
                               {.atol = manifest.atol, .rtol = manifest.rtol});
}

absl::Status RunCase(const std::string& folder, const ModelCase& model_case,
                     const Manifest& manifest, Method& method) {
  const MethodPlan& plan = method.plan();
  if (plan.inputs.size() != model_case.inputs.size()) {
    return absl::FailedPreconditionError(absl::StrCat("the program takes ", plan.inputs.size(),
                                                      " inputs, the case has ",
                                                      model_case.inputs.size()));
  }
  std::vector<NpyArray> arrays(model_case.inputs.size());
  std::vector<EValue> inputs;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Leaf& leaf = model_case.inputs[i];
    inputs.push_back(ConstantInput(plan, i));
    if (!leaf.file.empty() && InputTakesArray(plan, i)) {
      ABSL_ASSIGN_OR_RETURN(arrays[i], ReadNpyFile(absl::StrCat(folder, "/", leaf.file)));
      ABSL_ASSIGN_OR_RETURN(inputs[i], InputFromNpy(plan, i, arrays[i]));
    }
  }
  return CheckCase(folder, model_case, manifest, exir::RunCall(method, inputs));
}

// Returns the largest size of all recorded leaves. It is the bound of sizes that the program leaves
// unbounded.
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

absl::StatusOr<std::vector<exir::OwnedValue>> ReadInputs(const std::string& folder,
                                                         const ModelCase& model_case) {
  std::vector<exir::OwnedValue> inputs;
  for (const Leaf& leaf : model_case.inputs) {
    exir::OwnedValue& input = inputs.emplace_back();
    if (leaf.file.empty()) continue;
    ABSL_ASSIGN_OR_RETURN(const NpyArray array, ReadNpyFile(absl::StrCat(folder, "/", leaf.file)));
    const TensorView view = AsLeaf(array, leaf);
    if (leaf.kind == "tensor" || leaf.kind == "array") {
      ABSL_ASSIGN_OR_RETURN(input, exir::OwnedValue::Borrow(view, false).Copy());
    } else if (view.numel() == 1 && view.dtype == DType::kInt64) {
      input = exir::OwnedValue::Scalar(*view.as<int64_t>());
    } else if (view.numel() == 1 && view.dtype == DType::kFloat64) {
      input = exir::OwnedValue::Scalar(*view.as<double>());
    } else if (view.numel() == 1 && view.dtype == DType::kBool) {
      input = exir::OwnedValue::Scalar(*view.as<bool>());
    } else {
      return absl::InvalidArgumentError(absl::StrCat(leaf.file, ": expected a number"));
    }
  }
  return inputs;
}

absl::Status CheckCase(const std::string& folder, const ModelCase& model_case,
                       const Manifest& manifest, const exir::CallOutcome& got) {
  ABSL_RETURN_IF_ERROR(got.status);
  if (got.outputs.size() != model_case.outputs.size()) {
    return absl::FailedPreconditionError(absl::StrCat("the program gives ", got.outputs.size(),
                                                      " outputs, the case has ",
                                                      model_case.outputs.size()));
  }
  const auto check = [&](const Leaf& leaf, const exir::OwnedValue& value, const std::string& what) {
    return Annotate(CheckLeaf(folder, leaf, value.value(), manifest), what);
  };
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(check(model_case.outputs[i], got.outputs[i], absl::StrCat("output ", i)));
  }
  for (const auto& [index, leaf] : model_case.inputs_after) {
    if (index >= got.inputs.size())
      return absl::InvalidArgumentError("inputs_after names an input that does not exist");
    ABSL_RETURN_IF_ERROR(
        check(leaf, got.inputs[index], absl::StrCat("input ", index, " after the call")));
  }
  for (const auto& [name, leaf] : model_case.buffers_after) {
    const auto state = got.state.find(name);
    if (state == got.state.end()) {
      return absl::NotFoundError(absl::StrCat("unknown state '", name, "'"));
    }
    ABSL_RETURN_IF_ERROR(
        check(leaf, state->second, absl::StrCat("buffer '", name, "' after the call")));
  }
  return absl::OkStatus();
}

absl::Status RunCases(const std::string& folder, const Manifest& manifest, Method& method) {
  for (size_t k = 0; k < manifest.cases.size(); ++k) {
    if (!manifest.stateful_sequence) method.ResetState();
    const absl::Status status =
        RunCase(absl::StrCat(folder, "/case_", k), manifest.cases[k], manifest, method);
    if (!status.ok()) return Annotate(status, absl::StrCat("case ", k));
  }
  return absl::OkStatus();
}

absl::StatusOr<exir::ProgramImage> LowerModel(const std::string& folder, const Manifest& manifest,
                                              const std::string& archive, const Engine& engine) {
  exir::PipelineOptions pipeline = engine.pipeline;
  if (!pipeline.unbounded_size.has_value()) pipeline.unbounded_size = LargestSize(manifest);
  return exir::LowerFiles({{"forward", absl::StrCat(folder, "/", archive)}}, *engine.ops, pipeline);
}

absl::Status RunModel(const std::string& folder, const Manifest& manifest,
                      const std::string& archive, const Engine& engine) {
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        LowerModel(folder, manifest, archive, engine));
  ABSL_ASSIGN_OR_RETURN(const Program program, exir::OpenImage(image));
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(program, "forward", *engine.kernels, *engine.backends));
  return RunCases(folder, manifest, method);
}

}  // namespace belay::conformance
