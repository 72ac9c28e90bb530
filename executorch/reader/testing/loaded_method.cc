#include "executorch/reader/testing/loaded_method.h"

#include <utility>

#include "executorch/reader/prim_kernels.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::pte {

absl::Status LoadedMethod::Call(const std::vector<belay::EValue>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method->SetInput(i, inputs[i]));
  }
  return method->Execute();
}

absl::StatusOr<std::vector<float>> LoadedMethod::Execute(const std::vector<belay::EValue>& inputs) {
  ABSL_RETURN_IF_ERROR(Call(inputs));
  return ToVector<float>(*method->GetOutput(0).get_if<TensorView>());
}

absl::StatusOr<std::unique_ptr<LoadedMethod>> Load(const PteBuilder& pte) {
  auto loaded = std::make_unique<LoadedMethod>();
  ABSL_RETURN_IF_ERROR(AddReferenceKernels(loaded->kernels));
  ABSL_RETURN_IF_ERROR(loaded->kernels.Add(PrimKernels()));
  ABSL_ASSIGN_OR_RETURN(belay::Program program, OpenPte(pte.Serialize()));
  loaded->program = std::make_unique<belay::Program>(std::move(program));
  ABSL_ASSIGN_OR_RETURN(
      Method method, Method::Load(*loaded->program, "forward", loaded->kernels, loaded->backends));
  loaded->method = std::make_unique<Method>(std::move(method));
  return loaded;
}

}  // namespace belay::pte
