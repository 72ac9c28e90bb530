// Loads payloads with one argument and one output, and calls them.
#ifndef BELAY_BACKENDS_XNNPACK_TESTING_LOADED_PAYLOAD_H_
#define BELAY_BACKENDS_XNNPACK_TESTING_LOADED_PAYLOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/xnnpack/testing/payload_builder.h"
#include "backends/xnnpack/xnnpack_runtime.h"
#include "runtime/core/arena.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/test_named_data.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/test_outputs.h"

namespace belay::xnnpack {

inline TensorView Float(std::vector<int64_t> sizes, void* data = nullptr) {
  return TensorView::Contiguous(DType::kFloat32, sizes, data);
}

inline absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(const PayloadBuilder& payload,
                                                            EValue argument, EValue output,
                                                            uint64_t memory_bytes = 1 << 30,
                                                            ThreadPool* threads = nullptr,
                                                            const OptionValues& options = {}) {
  // Lives as long as the handle; threads call this concurrently.
  static std::mutex mutex;
  static std::list<std::string> programs;
  const std::string& bytes = [&]() -> const std::string& {
    const std::lock_guard<std::mutex> lock(mutex);
    return programs.emplace_back(payload.Serialize());
  }();
  const TestNamedData data;
  const EValue *argument_pointer = &argument, *output_pointer = &output;
  MemoryBudget memory("delegate_bytes", memory_bytes);
  const DelegateInitContext context{.method = "forward",
                                    .compile_specs = {},
                                    .named_data = &data,
                                    .arguments = absl::MakeConstSpan(&argument_pointer, 1),
                                    .outputs = absl::MakeConstSpan(&output_pointer, 1),
                                    .memory = &memory,
                                    .threads = threads,
                                    .options = &options};
  return XnnpackRuntime().Init(context,
                               {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

inline absl::StatusOr<std::vector<float>> Call(DelegateHandle& handle, EValue argument) {
  EValue output = Float({1});
  EValue *arguments[] = {&argument}, *outputs[] = {&output};
  FreshOutputs allocator;
  // A new address in each call, with arbitrary contents.
  ABSL_ASSIGN_OR_RETURN(AlignedBuffer scratch, AlignedBuffer::Create(handle.ScratchBytes()));
  std::fill(scratch.span().begin(), scratch.span().end(), std::byte{0xff});
  KernelContext context(arguments, outputs, &allocator, scratch.span());
  ABSL_RETURN_IF_ERROR(handle.Execute(context));
  return ToVector<float>(*output.get_if<TensorView>());
}

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_TESTING_LOADED_PAYLOAD_H_
