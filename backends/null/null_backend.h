// The compile-time part: converts sub-programs to blobs.
#ifndef BELAY_BACKENDS_NULL_NULL_BACKEND_H_
#define BELAY_BACKENDS_NULL_NULL_BACKEND_H_

#include "exir/backend/backend.h"

namespace belay::null {

class NullBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "null"; }
  std::string_view target() const override { return "//backends/null:aot"; }
  // kUnimplemented for every operator.
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

}  // namespace belay::null

#endif  // BELAY_BACKENDS_NULL_NULL_BACKEND_H_
