// Compile-time entry point that a belay_backend_set (bazel/defs.bzl) requires.
#include <memory>

#include "backends/aot_backend.h"
#include "npu_backend.h"

namespace belay::npu {

AotBackend Aot();

AotBackend Aot() {
  static const auto& backend = *new ::npu::NpuBackend;
  return {.name = "npu",
          .backends = {&backend},
          .create_partitioner = [](absl::Span<const exir::CompileSpec>)
              -> std::unique_ptr<exir::Partitioner> { return ::npu::CreateNpuPartitioner(); }};
}

}  // namespace belay::npu
