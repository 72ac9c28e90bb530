#include <memory>
#include <vector>

#include "backends/aot_backend.h"
#include "backends/xnnpack/aot/xnnpack_backend.h"

namespace belay::xnnpack {

AotBackend Aot();

AotBackend Aot() {
  static const XnnpackBackend& backend = *new XnnpackBackend;
  return {.name = "xnnpack",
          .backends = {&backend},
          .create_partitioner = [](absl::Span<const exir::CompileSpec> compile_specs)
              -> std::unique_ptr<exir::Partitioner> {
            return CreateXnnpackPartitioner({compile_specs.begin(), compile_specs.end()});
          }};
}

}  // namespace belay::xnnpack
