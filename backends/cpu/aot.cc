#include <memory>

#include "backends/aot_backend.h"
#include "backends/cpu/aot/cpu_backend.h"
#include "backends/cpu/aot/cpu_partitioner.h"

namespace belay::cpu {

AotBackend Aot();

AotBackend Aot() {
  static const CpuBackend& backend = *new CpuBackend;
  return {.name = "cpu",
          .backends = {&backend},
          .create_partitioner = [](absl::Span<const exir::CompileSpec> compile_specs)
              -> std::unique_ptr<exir::Partitioner> {
            return CreateCpuPartitioner({compile_specs.begin(), compile_specs.end()});
          }};
}

}  // namespace belay::cpu
