// Output allocators for kernel tests.
#ifndef BELAY_RUNTIME_KERNEL_TEST_OUTPUTS_H_
#define BELAY_RUNTIME_KERNEL_TEST_OUTPUTS_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/sizes.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// Outputs planned by the test: they have memory already, and resizing only accepts their sizes.
class FixedOutputs final : public OutputAllocator {
 public:
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    if (tensor.sizes.span() == sizes) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("expected sizes ", FormatSizes(tensor.sizes), ", got ", FormatSizes(sizes)));
  }
};

// Allocates zeroed contiguous memory for outputs, up to 65536 elements each. Keeps an output that
// has memory and the right sizes.
class FreshOutputs final : public OutputAllocator {
 public:
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    const std::optional<int64_t> count = NumElements(sizes);
    if (!count.has_value() || *count > (int64_t{1} << 16)) {
      return absl::ResourceExhaustedError("too large for the test");
    }
    if (tensor.data != nullptr && tensor.sizes.span() == sizes) return absl::OkStatus();
    if (*count == 0) {
      tensor = TensorView::Contiguous(tensor.dtype, sizes, nullptr);
      return absl::OkStatus();
    }
    memory_.push_back(TestTensor::Zeros(tensor.dtype, Sizes(sizes)));
    tensor = memory_.back().view();
    return absl::OkStatus();
  }

 private:
  std::deque<TestTensor> memory_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_TEST_OUTPUTS_H_
