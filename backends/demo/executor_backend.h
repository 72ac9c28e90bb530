// A backend whose blob is a complete program file, which its runtime loads and executes.
//
// Models backends that hand a partition to another process or device; the demo stays in the
// process. Source: docs/lowering.md §6 (rpc demos).
#ifndef BELAY_BACKENDS_DEMO_EXECUTOR_BACKEND_H_
#define BELAY_BACKENDS_DEMO_EXECUTOR_BACKEND_H_

#include <memory>

#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::demo {

// Supports every program that can be emitted, including delegate calls and mutable state.
class ExecutorBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "ExecutorBackend"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  // The blob is the program file of the sub-program as method "forward".
  //   kInvalidArgument  any compile spec
  //   errors of EmitProgram and SerializeProgram
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Delegates aten.add.Tensor, aten.mm.default and delegate calls to ExecutorBackend.
std::unique_ptr<exir::Partitioner> CreateExecutorPartitioner();

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTOR_BACKEND_H_
