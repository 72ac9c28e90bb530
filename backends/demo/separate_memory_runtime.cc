#include "backends/demo/separate_memory_runtime.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "backends/demo/demo_runtime.h"
#include "runtime/core/annotate.h"
#include "runtime/core/arena.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/movement.h"

// Newer Abseil deprecates this constructor of MutexLock; Debian 12's Abseil has no other.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace belay::demo {
namespace {

// Memory of the process's single device.
class DeviceMemory {
 public:
  static DeviceMemory& Get() {
    static DeviceMemory& memory = *new DeviceMemory;
    return memory;
  }

  // Allocates device memory for a dense tensor, marks its host memory, and returns the device
  // tensor.
  absl::StatusOr<TensorView> Place(TensorView tensor) {
    const absl::MutexLock lock(&mutex_);
    AlignedBuffer& buffer = buffers_[tensor.data];
    const uint64_t size = tensor.nbytes();
    if (buffer.size() < size) {
      ABSL_RETURN_IF_ERROR(budget_.Take(size - buffer.size(), tensor.ToString()));
      ABSL_ASSIGN_OR_RETURN(buffer, AlignedBuffer::Create(size));
    }
    if (size > 0) std::memset(tensor.data, kMark, size);
    tensor.data = buffer.data();
    return tensor;
  }

  // Returns the device tensor. kFailedPrecondition if Place was not called for it, or the host has
  // overwritten its mark.
  absl::StatusOr<TensorView> Find(TensorView tensor) {
    const absl::MutexLock lock(&mutex_);
    const auto found = buffers_.find(tensor.data);
    const auto bytes = absl::MakeConstSpan(tensor.as<const unsigned char>(), tensor.nbytes());
    if (found == buffers_.end() || found->second.size() < bytes.size() ||
        !absl::c_all_of(bytes, [](unsigned char byte) { return byte == kMark; })) {
      return absl::FailedPreconditionError(
          absl::StrCat(tensor.ToString(), " is in the host's memory, not on the device"));
    }
    tensor.data = found->second.data();
    return tensor;
  }

 private:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 26;
  static constexpr unsigned char kMark = 0xd5;

  absl::Mutex mutex_;
  absl::flat_hash_map<const void*, AlignedBuffer> buffers_ ABSL_GUARDED_BY(mutex_);  // by address
  MemoryBudget budget_ ABSL_GUARDED_BY(mutex_){"memory of the demo device", kMostBytes};
};

absl::Status ToDevice(KernelContext& context, const CopyCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, call.self->sizes));
  ABSL_ASSIGN_OR_RETURN(const TensorView there, DeviceMemory::Get().Place(*out));
  return CopyElements(*call.self, there);
}

absl::Status ToHost(KernelContext& context, const CopyCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView there, DeviceMemory::Get().Find(*call.self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, there.sizes));
  return CopyElements(there, *out);
}

// Allocates the outputs of a delegate call on the device.
class DeviceOutputs final : public OutputAllocator {
 public:
  DeviceOutputs(KernelContext& outer, const std::vector<EValue>& outputs)
      : outer_(outer), outputs_(outputs) {}

  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].get_if<TensorView>() != &tensor) continue;
      ABSL_ASSIGN_OR_RETURN(const TensorView* out, outer_.Output(static_cast<int>(i), sizes));
      ABSL_ASSIGN_OR_RETURN(tensor, DeviceMemory::Get().Place(*out));
      return absl::OkStatus();
    }
    return absl::InternalError("an output that the call does not have");
  }

 private:
  KernelContext& outer_;
  const std::vector<EValue>& outputs_;
};

class SeparateMemoryHandle final : public DelegateHandle {
 public:
  explicit SeparateMemoryHandle(std::unique_ptr<DelegateHandle> inner) : inner_(std::move(inner)) {}

  absl::Status Execute(KernelContext& context) override {
    Budget budget;
    return ExecuteWithin(context, budget);
  }

  absl::Status ExecuteWithin(KernelContext& context, Budget& budget) override {
    std::vector<EValue> arguments, outputs;
    for (int i = 0; i < context.num_arguments(); ++i) {
      ABSL_ASSIGN_OR_RETURN(const TensorView* tensor, context.Tensor(i));
      absl::StatusOr<TensorView> there = DeviceMemory::Get().Find(*tensor);
      if (!there.ok()) return Annotate(there.status(), absl::StrCat("argument ", i));
      arguments.emplace_back(*there);
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      ABSL_ASSIGN_OR_RETURN(const TensorView* tensor, context.PlannedOutput(i));
      outputs.emplace_back(*tensor);
    }
    std::vector<EValue*> argument_places, output_places;
    for (EValue& argument : arguments) argument_places.push_back(&argument);
    for (EValue& output : outputs) output_places.push_back(&output);
    DeviceOutputs allocator(context, outputs);
    KernelContext there(argument_places, output_places, &allocator, context.scratch());
    return inner_->ExecuteWithin(there, budget);
  }
  uint64_t ScratchBytes() const override { return inner_->ScratchBytes(); }

 private:
  std::unique_ptr<DelegateHandle> inner_;
};

constexpr KernelEngine kReference = KernelEngine::kReference;
constexpr Kernel kKernels[] = {
    KernelRow<&ToHost>("et_copy._d2h_copy.default", "self", "DemoToHost", kReference),
    KernelRow<&ToDevice>("et_copy._h2d_copy.default", "self", "DemoToDevice", kReference),
};

}  // namespace

absl::Span<const Kernel> SeparateMemoryKernels() { return kKernels; }

absl::StatusOr<std::unique_ptr<DelegateHandle>> SeparateMemoryRuntime::Init(
    const DelegateInitContext& context, absl::Span<const std::byte> blob) const {
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<DelegateHandle> inner, DemoRuntime().Init(context, blob));
  return std::make_unique<SeparateMemoryHandle>(std::move(inner));
}

}  // namespace belay::demo
