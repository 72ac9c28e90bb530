#include "exir/testing/generator/sample_call.h"

#include <utility>

#include "runtime/core/status_macros.h"

namespace belay::exir {

TensorView SampleTensor::view() const {
  return {.dtype = dtype,
          .sizes = sizes,
          .strides = strides,
          .data = const_cast<std::byte*>(bytes.data())};
}

OwnedValue SampleTensor::Copy() const {
  absl::StatusOr<OwnedValue> copy = OwnedValue::Borrow(view(), /*writable=*/true).Copy();
  ABSL_CHECK(copy.ok());
  return *std::move(copy);
}

}  // namespace belay::exir
