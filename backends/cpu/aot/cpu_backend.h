// The compile-time part of the CPU backend.
#ifndef BELAY_BACKENDS_CPU_AOT_CPU_BACKEND_H_
#define BELAY_BACKENDS_CPU_AOT_CPU_BACKEND_H_

#include "exir/backend/backend.h"

namespace belay::cpu {

// The id shared by the compile-time and run-time parts.
inline constexpr std::string_view kBackendId = "cpu";

// Rewrites a program to the CPU dialect (backends/cpu/README.md) and emits it. The blob is a
// program file with one method, "forward". Its memory is planned and the plan is verified as for
// any program. Constants of 1024 bytes or more become named data under their SHA-256 in
// hexadecimal, so all delegates of all methods share them. Smaller constants are stored in the
// blob. Replaceable tensors are named data under their own names; weights of matmuls among them are
// packed when the delegate is initialized.
class CpuBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return kBackendId; }
  std::string_view target() const override { return "//backends/cpu:aot"; }
  // Keys of the debug handle map are the handles in the blob's debug information, one per
  // instruction. A fused instruction maps to several handles.
  //
  // Compile specs: "precision" is one of
  //
  //   auto      the default: as program, but if a method has dynamic sizes, as those of language
  //             models, linear layers with integer weights quantize many rows of the input to
  //             int8 after a norm, otherwise to int16, in blocks of 32 (passes/quantize_rows.h)
  //   program   in the program's dtypes; 3x3 convolutions use the Winograd variant that is about as
  //             accurate as the sum of products (passes/lower_conv2d.h)
  //   bfloat16  float32 matmuls and convolutions with constant weights compute in bfloat16
  //             (passes/narrow_products.h)
  //   winograd  3x3 convolutions use still fewer multiplications and round more
  //   direct    as program, but all convolutions sum products
  //   int8      as program, but all linear layers with integer weights quantize many rows of the
  //             input to int8 in blocks of 32, as llama.cpp does (passes/quantize_rows.h)
  //
  //   kInvalidArgument  an unknown or repeated compile spec
  //   errors of the passes, EmitProgram and SerializeProgram
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
  // Runs Preprocess for each partition. Bytes that several partitions share are hashed and held
  // once. An embedding reads its rows from the packed weight of a linear layer if any partition
  // packs the same table (passes/lower_embedding.h).
  absl::StatusOr<exir::MethodResults> PreprocessMultimethod(exir::MethodPartitions methods,
                                                            int threads) const override;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_CPU_BACKEND_H_
