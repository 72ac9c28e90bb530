#include "backends/cpu/aot/delegate_cost.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "runtime/core/dtype.h"
#include "runtime/schema/private_operators.h"

namespace belay::cpu {
namespace {

// Bytes of a tensor, or of the tensors of a list; 0 for other values.
double BytesOf(const schema::Method& method, uint32_t index) {
  const schema::Value& value = method.values(static_cast<int>(index));
  if (value.has_tensor()) {
    auto bytes = static_cast<double>(DTypeSize(static_cast<DType>(value.tensor().dtype())));
    for (int64_t size : value.tensor().sizes()) bytes *= static_cast<double>(size);
    return bytes;
  }
  double bytes = 0;
  for (uint32_t element : value.list().elements()) bytes += BytesOf(method, element);
  return bytes;
}

}  // namespace

exir::DelegateCost CostOf(const schema::Program& program, std::string_view backend_id) {
  exir::DelegateCost cost;
  absl::btree_map<std::string_view, exir::DelegateCost::GenericKernel> by_operator;
  for (const schema::Method& method : program.methods()) {
    cost.memory_bytes += method.arena_bytes();
    for (const schema::Instruction& instruction : method.instructions()) {
      if (!instruction.has_kernel()) continue;
      ++cost.kernel_calls;
      const schema::KernelCall& call = instruction.kernel();
      const std::string_view op = method.operators(static_cast<int>(call.operator_()));
      if (IsPrivateOperator(backend_id, op)) continue;
      exir::DelegateCost::GenericKernel& generic = by_operator[op];
      generic.op = op;
      ++generic.calls;
      for (uint32_t value : call.arguments()) generic.bytes += BytesOf(method, value);
      for (uint32_t value : call.outputs()) generic.bytes += BytesOf(method, value);
    }
  }
  for (auto& [op, generic] : by_operator) cost.generic.push_back(std::move(generic));
  return cost;
}

}  // namespace belay::cpu
