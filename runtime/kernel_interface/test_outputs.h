// Runs kernels on values of C++, with output allocators, for tests of results. Calls as strings:
// runtime/kernels/call_testing.h.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_TEST_OUTPUTS_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_TEST_OUTPUTS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/arena.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/kernel_registry.h"

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

// A kernel and its scratch memory, which can run calls with other sizes than those planned.
struct PlannedKernel {
  const Kernel* kernel = nullptr;
  AlignedBuffer scratch;

  absl::Status Run(absl::Span<EValue* const> arguments, absl::Span<EValue* const> outputs,
                   OutputAllocator& allocator, ThreadPool* threads = nullptr) {
    KernelContext context(arguments, outputs, &allocator, scratch.span(), threads);
    return kernel->Run(context);
  }
};
// Returns the registry's kernel that accepts the call, and the scratch memory that it requests.
// `threads`: null to use only the calling thread.
//   kNotFound           no kernel accepts the call
//   kResourceExhausted  more than 16 MiB of scratch memory
inline absl::StatusOr<PlannedKernel> PlanKernel(const KernelRegistry& kernels, std::string_view op,
                                                absl::Span<EValue* const> arguments,
                                                absl::Span<EValue* const> outputs,
                                                OutputAllocator& allocator,
                                                ThreadPool* threads = nullptr) {
  const KernelContext context(arguments, outputs, &allocator, {}, threads);
  const Kernel* kernel = kernels.Find(op, context);
  if (kernel == nullptr) return absl::NotFoundError(std::string(op));
  const uint64_t bytes = kernel->ScratchBytes(context);
  if (bytes > (uint64_t{1} << 24)) return absl::ResourceExhaustedError("scratch");
  absl::StatusOr<AlignedBuffer> scratch = AlignedBuffer::Create(bytes);
  if (!scratch.ok()) return scratch.status();
  return PlannedKernel{kernel, *std::move(scratch)};
}

// Runs the kernel that PlanKernel returns for the call. Errors of PlanKernel and of the kernel.
inline absl::Status RunOperator(const KernelRegistry& kernels, std::string_view op,
                                absl::Span<EValue* const> arguments,
                                absl::Span<EValue* const> outputs, OutputAllocator& allocator,
                                ThreadPool* threads = nullptr) {
  absl::StatusOr<PlannedKernel> planned =
      PlanKernel(kernels, op, arguments, outputs, allocator, threads);
  return planned.ok() ? planned->Run(arguments, outputs, allocator, threads) : planned.status();
}
inline absl::Status RunOperator(const KernelRegistry& kernels, std::string_view op,
                                std::vector<EValue> arguments, absl::Span<EValue* const> outputs,
                                OutputAllocator& allocator, ThreadPool* threads = nullptr) {
  std::vector<EValue*> slots;
  for (EValue& argument : arguments) slots.push_back(&argument);
  return RunOperator(kernels, op, absl::MakeConstSpan(slots), outputs, allocator, threads);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_TEST_OUTPUTS_H_
