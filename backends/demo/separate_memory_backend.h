// A device with its own memory. Demonstrates `target_device` and copies at the boundaries of
// delegates. Source: docs/lowering.md row 10.
#ifndef BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_BACKEND_H_
#define BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_BACKEND_H_

#include "exir/backend/backend.h"

namespace belay::demo {

// Supports the operators of DemoBackend on the devices demo:0, demo:1, … only. The compile spec
// target_device is required, and the only one.
class SeparateMemoryBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "SeparateMemoryDemo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  bool SupportsDevice(const exir::Device& device) const override { return device.type == "demo"; }
  //   kInvalidArgument  other compile specs
  //   errors of DemoBackend
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_BACKEND_H_
