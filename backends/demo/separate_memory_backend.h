// A device whose memory is its own: how `target_device` and the copies at the borders of delegates
// work together. Source: docs/lowering.md row 10.
#ifndef BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_BACKEND_H_
#define BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_BACKEND_H_

#include "exir/backend/backend.h"

namespace belay::demo {

// Takes what DemoBackend takes, for the devices demo:0, demo:1, … and no others. The compile spec
// target_device is its only one, and has to be there.
class SeparateMemoryBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "SeparateMemoryDemo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  bool SupportsDevice(const exir::Device& device) const override { return device.type == "demo"; }
  //   kInvalidArgument  other compile specs
  // and what DemoBackend's fails with.
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_SEPARATE_MEMORY_BACKEND_H_
