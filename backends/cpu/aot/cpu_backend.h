// The CPU backend's compile-time side.
#ifndef BELAY_BACKENDS_CPU_AOT_CPU_BACKEND_H_
#define BELAY_BACKENDS_CPU_AOT_CPU_BACKEND_H_

#include "exir/backend/backend.h"

namespace belay::cpu {

// The id of both sides.
inline constexpr std::string_view kBackendId = "cpu";

// Rewrites a program to the CPU dialect (backends/cpu/README.md) and emits it: the blob is a program
// file of one method, "forward". Its memory is planned, and the plan proved, like any other's.
// Constants of 1024 bytes and more are named data under their SHA-256 in hexadecimal digits, so that
// all delegates of all methods have them once; smaller ones lie in the blob.
class CpuBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return kBackendId; }
  std::string_view target() const override { return "//backends/cpu:aot"; }
  // The debug handle map's identifiers are the handles that the blob's own debug information names
  // for each instruction; a fused instruction stands for several handles.
  // Compile specs: "precision" is "program", which is the default; "bfloat16": products and
  // convolutions of float32 with constant weights compute in bfloat16 (passes/narrow_products.h); or
  // "winograd": convolutions of 3 by 3 take fewer multiplications and round more (passes/lower_conv2d.h).
  //   kInvalidArgument  another compile spec, or one twice
  //   what the passes, EmitProgram and SerializeProgram return
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
  // Preprocess for each; bytes that several partitions have are digested and held once.
  absl::StatusOr<exir::MethodResults> PreprocessMultimethod(exir::MethodPartitions methods,
                                                            int threads) const override;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_CPU_BACKEND_H_
