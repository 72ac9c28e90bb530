// The demo backend's compile-time side.
#ifndef BELAY_BACKENDS_DEMO_DEMO_BACKEND_H_
#define BELAY_BACKENDS_DEMO_DEMO_BACKEND_H_

#include "exir/backend/backend.h"

namespace belay::demo {

// Compiles programs of the operators in demo_ops.h to a list of instructions (demo_blob.proto).
class DemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "demo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  //   kUnimplemented    a node that the partitioner would not take (names it and why), a mutation
  //   kInvalidArgument  a compile spec; there are none
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_BACKEND_H_
