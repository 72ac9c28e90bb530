// The demos that backend lowering was founded with, byte for byte in what they write.
//
// Source: docs/lowering.md §4.5, §6.
#ifndef BELAY_BACKENDS_DEMO_EXECUTORCH_BACKENDS_H_
#define BELAY_BACKENDS_DEMO_EXECUTORCH_BACKENDS_H_

#include <memory>

#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::demo {

// Writes "<count>version:0#op:demo::aten.sin.default, numel:1,
// dtype:torch.float32<debug_handle>1#…" for chains (chain.h) of sin, mm and add.
//   kUnimplemented  another operator, no such chain, a constant
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
// "2#conv_relu_op,0,sin_decomp_from_tan,1,…". The blob has no operands, so its runtime can say what
// the instructions are but not compute them.
class DelegateMappingDemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "BackendWithDelegateMappingDemo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Shows named data: for chains of sin, cos, add, sub, mul and div, each operator's definition is a
// named blob with the operator's name as its key, and the delegate's own blob is the list of keys,
// one a line. Delegates that use one operator share its blob.
//   kUnimplemented  another operator, no such chain, a constant
class NamedDataDemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "BackendWithNamedDataMap"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Shows compiling all methods together. The blob of each partition is
// "<id>#<nodes of all partitions of all methods>#<operators>#<specs>": operators joined by "+",
// constants as "CONST<fqn>" among them where the program has them (at the start), specs as
// <key>=<value in hex> joined by ",". Constants are named data, so methods share them. Takes chains
// of sin, cos, add, sub, mul and div.
//   kUnimplemented  another operator, no such chain, a constant whose name has one of "+#"
class PreprocessAllDemoBackend final : public exir::Backend {
 public:
  // `id`: "FirstBackendWithPreprocessAll" or "SecondBackendWithPreprocessAll".
  explicit PreprocessAllDemoBackend(std::string_view id) : id_(id) {}
  std::string_view id() const override { return id_; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
  absl::StatusOr<exir::MethodResults> PreprocessMultimethod(exir::MethodPartitions methods,
                                                            int threads) const override;

 private:
  std::string_view id_;
};

// aten.add.Tensor and aten.mm.default to BackendWithCompilerDemo, with the compile spec
// max_value 4.
std::unique_ptr<exir::Partitioner> CreateAddMulPartitionerDemo();

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTORCH_BACKENDS_H_
