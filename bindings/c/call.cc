// Inputs, execution and outputs in one call.
#include <variant>

#include "absl/strings/str_cat.h"
#include "bindings/c/execution.h"
#include "bindings/c/handles.h"
#include "runtime/core/annotate.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"

namespace belay::c {
namespace {

absl::StatusOr<EValue> InputOf(const belay_value& value) {
  switch (value.kind) {
    case BELAY_KIND_TENSOR: {
      ABSL_ASSIGN_OR_RETURN(const TensorView view, ViewOf(&value.tensor));
      return EValue(view);
    }
    case BELAY_KIND_INT:
      return EValue(value.int_value);
    case BELAY_KIND_DOUBLE:
      return EValue(value.double_value);
    case BELAY_KIND_BOOL:
      return EValue(value.bool_value != 0);
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "expected a tensor, an int, a float or a bool, got kind ", static_cast<int>(value.kind)));
  }
}

// Returns whether the caller reserved memory for the output.
bool HasMemory(const belay_value& output) {
  return output.kind == BELAY_KIND_TENSOR && output.tensor.data != nullptr;
}

// Places the output in the caller's memory if the method can write there directly.
void MoveOutput(belay_method& method, size_t i, const belay_value& output) {
  const MethodPlan& plan = method.method->plan();
  const auto* tensor = std::get_if<TensorPlan>(&plan.values[plan.outputs[i]]);
  TensorView memory;
  if (HasMemory(output) && tensor != nullptr && tensor->is_static()) {
    memory.dtype = tensor->dtype;
    memory.sizes = Sizes(tensor->sizes);
    memory.strides = DenseStrides(tensor->sizes, tensor->dim_order);
    memory.data = output.tensor.data;
  } else if (!method.moved[i]) {
    return;
  }
  method.moved[i] = method.method->SetOutputMemory(i, memory);
}

// Copies the elements to the caller's memory, without gaps and in the order of their strides.
absl::StatusOr<TensorView> CopyTo(void* memory, const TensorView& from) {
  TensorView to = from;
  to.data = memory;
  if (!IsDense(from.sizes, from.strides))
    to = TensorView::Contiguous(from.dtype, from.sizes, memory);
  ABSL_RETURN_IF_ERROR(CopyElements(from, to));
  return to;
}

absl::Status StoreOutput(const belay_method& method, size_t i, belay_value& output) {
  const EValue& value = method.method->GetOutput(i);
  void* const memory = HasMemory(output) ? output.tensor.data : nullptr;
  if (const auto* tensor = value.get_if<TensorView>()) {
    TensorView view = *tensor;
    if (memory != nullptr && view.data != memory) {
      ABSL_ASSIGN_OR_RETURN(view, CopyTo(memory, view));
    }
    output.tensor = TensorOf(view);
  } else if (const auto* number = value.get_if<int64_t>()) {
    output.int_value = *number;
  } else if (const auto* real = value.get_if<double>()) {
    output.double_value = *real;
  } else if (const auto* truth = value.get_if<bool>()) {
    output.bool_value = *truth ? 1 : 0;
  }
  output.kind = KindOf(value);
  return absl::OkStatus();
}

absl::Status CheckCount(std::string_view what, size_t expected, size_t actual, const void* list) {
  if (actual != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", expected, " ", what, ", got ", actual));
  }
  if (expected > 0 && list == nullptr) return Missing(what);
  return absl::OkStatus();
}

absl::Status Call(belay_method* method, const belay_value* inputs, size_t num_inputs,
                  belay_value* outputs, size_t num_outputs, const belay_execute_options* options) {
  if (method == nullptr) return Missing("a method");
  ABSL_RETURN_IF_ERROR(CheckCount("outputs", method->method->num_outputs(), num_outputs, outputs));
  ABSL_RETURN_IF_ERROR(SetInputs(*method, inputs, num_inputs));
  for (size_t i = 0; i < num_outputs; ++i) MoveOutput(*method, i, outputs[i]);
  ABSL_RETURN_IF_ERROR(Execute(method, options));
  for (size_t i = 0; i < num_outputs; ++i) {
    ABSL_RETURN_IF_ERROR(StoreOutput(*method, i, outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetInputs(belay_method& method, const belay_value* inputs, size_t num_inputs) {
  Method& loaded = *method.method;
  ABSL_RETURN_IF_ERROR(CheckCount("inputs", loaded.num_inputs(), num_inputs, inputs));
  method.has_outputs = false;
  for (size_t i = 0; i < num_inputs; ++i) {
    if (inputs[i].kind == BELAY_KIND_NONE) continue;
    const absl::StatusOr<EValue> value = InputOf(inputs[i]);
    if (!value.ok()) {
      return Annotate(value.status(),
                      absl::StrCat("input ", i, " '", loaded.plan().inputs[i].name, "'"));
    }
    ABSL_RETURN_IF_ERROR(loaded.SetInput(i, *value));
  }
  return absl::OkStatus();
}

}  // namespace belay::c

belay_status belay_method_call(belay_method* method, const belay_value* inputs, size_t num_inputs,
                               belay_value* outputs, size_t num_outputs,
                               const belay_execute_options* options, belay_error** error) {
  return belay::c::Report(belay::c::Call(method, inputs, num_inputs, outputs, num_outputs, options),
                          error);
}
