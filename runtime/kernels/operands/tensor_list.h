// Access to tensors in list arguments.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_TENSOR_LIST_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_TENSOR_LIST_H_

#include "absl/status/statusor.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Returns element `k` of a Tensor?[]; nullptr for none. kInvalidArgument if it is neither.
inline absl::StatusOr<const TensorView*> OptionalListTensor(const ListView& list, int k) {
  const EValue* element = list.elements[k];
  if (element != nullptr && element->is_none()) return static_cast<const TensorView*>(nullptr);
  const TensorView* tensor = element == nullptr ? nullptr : element->get_if<TensorView>();
  if (tensor != nullptr) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat("element ", k, " of the list: expected tensor, got ",
                   element == nullptr ? std::string("nothing") : element->KindName()));
}

// Returns element `k` of a Tensor[]. kInvalidArgument if it is not a tensor.
inline absl::StatusOr<const TensorView*> ListTensor(const ListView& list, int k) {
  absl::StatusOr<const TensorView*> tensor = OptionalListTensor(list, k);
  if (tensor.ok() && *tensor == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("element ", k, " of the list: expected tensor, got none"));
  }
  return tensor;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_TENSOR_LIST_H_
