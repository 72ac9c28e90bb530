#include "exir/ir/float_elements.h"

#include <cstddef>
#include <cstring>

#include "runtime/core/status_macros.h"

namespace belay::exir {

absl::StatusOr<std::vector<float>> FloatElements(const ConstantTensor& constant) {
  ABSL_ASSIGN_OR_RETURN(const Storage dense, constant.Dense());
  std::vector<float> elements(static_cast<size_t>(constant.view().numel()));
  if (!elements.empty()) {
    std::memcpy(elements.data(), dense.bytes.data(), elements.size() * sizeof(float));
  }
  return elements;
}

}  // namespace belay::exir
