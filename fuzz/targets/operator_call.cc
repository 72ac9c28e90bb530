// One-operator programs: every kernel, with arguments of the schema's kinds and of any value, dtype
// and size.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/operator_call_generator.h"
#include "fuzz/oracles/execution.h"
#include "fuzz/oracles/require.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace belay;
  static const KernelRegistry& preferred = *[] {
    auto* registry = new KernelRegistry;
    ABSL_CHECK(AddStandardKernels(*registry).ok());
    return registry;
  }();
  static const KernelRegistry& reference = *[] {
    auto* registry = new KernelRegistry;
    ABSL_CHECK(AddReferenceKernels(*registry).ok());
    return registry;
  }();
  static const BackendRegistry& backends = *new BackendRegistry;
  static const exir::OpRegistry& ops = *[] {
    auto created = exir::CreateStandardOps();
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  static const std::vector<const exir::OpOverload*>& operators = *[] {
    auto* callable = new std::vector<const exir::OpOverload*>;
    for (const exir::OpOverload* op : fuzz::CallableOperators(ops)) {
      if (preferred.Contains(op->name())) callable->push_back(op);
    }
    return callable;
  }();
  fuzz::ByteSource source(data, size);
  const uint8_t kind = source.Byte();
  const bool highway = (kind & 1) != 0;
  const std::string file = fuzz::GenerateOperatorCallFile(
      source, operators,
      (kind >> 1) % 8 == 7 ? fuzz::TensorSizes::kHugeEmptyTensors : fuzz::TensorSizes::kSmall);
  fuzz::Require(fuzz::CheckExecution(
      file, {.kernels = highway ? preferred : reference, .backends = backends}, source));
  return 0;
}
