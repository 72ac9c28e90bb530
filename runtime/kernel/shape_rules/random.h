// Calls of operators on given tensors that use random numbers.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_RANDOM_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_RANDOM_H_

#include "runtime/kernel/shape_rules/index.h"

namespace belay {

// native_dropout -> (out, mask).
template <class Arguments>
struct DropoutCall {
  typename Arguments::TensorRef input;
  double p = 0;
  bool train = true;

  static absl::StatusOr<DropoutCall> Read(const Arguments& arguments) {
    DropoutCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input"));
    ABSL_ASSIGN_OR_RETURN(call.p, arguments.Double("p"));
    if (!arguments.IsNone("train")) {
      ABSL_ASSIGN_OR_RETURN(call.train, arguments.Bool("train"));
    }
    return call;
  }
  // Without elements PyTorch returns a mask of the input's dtype and looks at nothing else.
  bool IsEmpty() const {
    const auto& sizes = Arguments::SizesOf(input);
    return KnownEmpty<typename Arguments::Dim>(sizes);
  }
  // Of what nothing is dropped, anything is taken.
  absl::Status CheckShapes() const {
    if (!train || IsEmpty()) return absl::OkStatus();
    if (!kFloatTypes.contains(input->dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: expected a floating point type, got ", DTypeName(input->dtype)));
    }
    if (p >= 0 && p <= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("p: expected a number from 0 to 1, got ", p));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_RANDOM_H_
