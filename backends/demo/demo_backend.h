// The compile-time part of the demo backend.
#ifndef BELAY_BACKENDS_DEMO_DEMO_BACKEND_H_
#define BELAY_BACKENDS_DEMO_DEMO_BACKEND_H_

#include "exir/backend/backend.h"

namespace belay::demo {

// Compiles programs of the operators in demo_ops.h to a list of instructions (demo_blob.proto).
class DemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "demo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  //   kUnimplemented    a node that the partitioner rejects (with name and reason), or a mutation
  //   kInvalidArgument  any compile spec
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_BACKEND_H_
