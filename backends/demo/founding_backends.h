// The demos that backend lowering was founded with, byte for byte in what they write.
//
// Source: lowering.md §4.5, §6.
#ifndef BELAY_BACKENDS_DEMO_FOUNDING_BACKENDS_H_
#define BELAY_BACKENDS_DEMO_FOUNDING_BACKENDS_H_

#include <memory>

#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::demo {

// Writes "<count>version:0#op:demo::aten.sin.default, numel:1,
// dtype:torch.float32<debug_handle>1#…" for chains of sin, mm and add: the first operand of each is
// what came before it (the first argument at the start), the second the next argument.
//   kUnimplemented  another operator, or no such chain
class CompilerDemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "BackendWithCompilerDemo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Shows delegate mappings: a relu after a convolution is one instruction of two nodes, a tan is
// three instructions of one node, everything else is none:
// "2#conv_relu_op,0,sin_decomp_from_tan,1,…".
class DelegateMappingDemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "BackendWithDelegateMappingDemo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// aten.add.Tensor and aten.mm.default to BackendWithCompilerDemo, with the compile spec
// max_value 4.
std::unique_ptr<exir::Partitioner> CreateAddMulPartitionerDemo();

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_FOUNDING_BACKENDS_H_
