// Reimplementations of ExecuTorch's backend demos; their blobs are byte-for-byte identical.
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
//   kUnimplemented  another operator, not a chain, a constant
class CompilerDemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "BackendWithCompilerDemo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Demonstrates delegate mappings. A relu after a convolution is one instruction for two nodes; a
// tan is three instructions for one node; all other nodes have none:
// "2#conv_relu_op,0,sin_decomp_from_tan,1,…". The blob has no operands, so its runtime can list the
// instructions but not compute them.
class DelegateMappingDemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "BackendWithDelegateMappingDemo"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Demonstrates named data, for chains of sin, cos, add, sub, mul and div. Each operator's
// definition is a named blob with the operator's name as its key. The delegate's own blob lists the
// keys, one per line. Delegates that use the same operator share its blob.
//   kUnimplemented  another operator, not a chain, a constant
class NamedDataDemoBackend final : public exir::Backend {
 public:
  std::string_view id() const override { return "BackendWithNamedDataMap"; }
  std::string_view target() const override { return "//backends/demo:aot"; }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program,
      absl::Span<const exir::CompileSpec> compile_specs) const override;
};

// Demonstrates joint compilation of all methods, for chains of sin, cos, add, sub, mul and div. The
// blob of each partition is
//
//   <id>#<nodes of all partitions of all methods>#<operators>#<specs>
//
// Operators are joined by "+", with constants as "CONST<fqn>" at their position in the program (at
// the start). Specs are <key>=<value in hex> joined by ",". Constants are named data, so methods
// share them.
//   kUnimplemented  another operator, not a chain, a constant whose name contains "+" or "#"
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

// Delegates aten.add.Tensor and aten.mm.default to BackendWithCompilerDemo, with the compile spec
// max_value 4.
std::unique_ptr<exir::Partitioner> CreateAddMulPartitionerDemo();

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_EXECUTORCH_BACKENDS_H_
