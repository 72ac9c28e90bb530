#include <memory>
#include <vector>

#include "backends/aot_backend.h"
#include "backends/demo/demo_backend.h"
#include "backends/demo/demo_partitioner.h"
#include "backends/demo/executor_backend.h"
#include "backends/demo/executorch_backends.h"

namespace belay::demo {

AotBackend Aot();

AotBackend Aot() {
  static const DemoBackend& backend = *new DemoBackend;
  static const CompilerDemoBackend& compiler_demo = *new CompilerDemoBackend;
  static const DelegateMappingDemoBackend& mapping_demo = *new DelegateMappingDemoBackend;
  static const NamedDataDemoBackend& named_data_demo = *new NamedDataDemoBackend;
  static const PreprocessAllDemoBackend& first =
      *new PreprocessAllDemoBackend("FirstBackendWithPreprocessAll");
  static const PreprocessAllDemoBackend& second =
      *new PreprocessAllDemoBackend("SecondBackendWithPreprocessAll");
  static const ExecutorBackend& executor = *new ExecutorBackend;
  return {.name = "demo",
          .backends = {&backend, &compiler_demo, &mapping_demo, &named_data_demo, &first, &second,
                       &executor},
          .create_partitioner = [](absl::Span<const exir::CompileSpec> compile_specs)
              -> std::unique_ptr<exir::Partitioner> {
            return CreateDemoPartitioner({compile_specs.begin(), compile_specs.end()});
          }};
}

}  // namespace belay::demo
