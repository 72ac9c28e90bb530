// A backend whose blob is a whole program file, which its runtime loads and executes.
//
// What a backend does that hands its part to another process or device: the demo of it stays in the
// process. Source: docs/lowering.md §6 (rpc demos).
#ifndef BELAY_BACKENDS_DEMO_EXECUTOR_BACKEND_H_
#define BELAY_BACKENDS_DEMO_EXECUTOR_BACKEND_H_

#include <memory>

#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::demo {

// Takes every program that can be emitted; delegate calls in it and state that it keeps included.
class ExecutorBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "ExecutorBackend"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  // The blob is the program file of the sub-program as method "forward".
  //   kInvalidArgument  a compile spec; there are none
  //   what EmitProgram and SerializeProgram return
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// aten.add.Tensor, aten.mm.default and delegate calls to ExecutorBackend.
std::unique_ptr<exir::Partitioner> CreateExecutorPartitioner();

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTOR_BACKEND_H_
