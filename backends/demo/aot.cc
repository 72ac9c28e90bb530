#include <memory>
#include <vector>

#include "backends/aot_backend.h"
#include "backends/demo/demo_backend.h"
#include "backends/demo/demo_partitioner.h"

namespace belay::demo {

AotBackend Aot();

AotBackend Aot() {
  static const DemoBackend& backend = *new DemoBackend;
  return {.name = "demo",
          .backends = {&backend},
          .create_partitioner = [](absl::Span<const exir::CompileSpec> compile_specs)
              -> std::unique_ptr<exir::Partitioner> {
            return CreateDemoPartitioner({compile_specs.begin(), compile_specs.end()});
          }};
}

}  // namespace belay::demo
