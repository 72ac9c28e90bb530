#include "backends/cpu/aot/delegate_cost.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/container/btree_map.h"
#include "runtime/core/dtype.h"

namespace belay::cpu {
namespace {

constexpr std::string_view kOwnOperators = "belay_cpu.";

// Bytes of a tensor, or of the tensors of a list.
double BytesOf(const schema::Method& method, uint32_t index) {
  const schema::Value& value = method.values(static_cast<int>(index));
  double bytes = 0;
  for (uint32_t element : value.list().elements()) {
    const schema::Value& member = method.values(static_cast<int>(element));
    if (member.has_tensor()) bytes += BytesOf(method, element);
  }
  if (!value.has_tensor()) return bytes;
  bytes = static_cast<double>(DTypeSize(static_cast<DType>(value.tensor().dtype())));
  for (int64_t size : value.tensor().sizes()) bytes *= static_cast<double>(size);
  return bytes;
}

}  // namespace

exir::DelegateCost CostOf(const schema::Program& program) {
  exir::DelegateCost cost;
  for (const schema::Method& method : program.methods()) {
    cost.memory_bytes += method.arena_bytes();
    absl::btree_map<std::string_view, exir::DelegateCost::GenericKernel> by_operator;
    for (const schema::Instruction& instruction : method.instructions()) {
      if (!instruction.has_kernel()) continue;
      ++cost.kernel_calls;
      const schema::KernelCall& call = instruction.kernel();
      const std::string_view op = method.operators(static_cast<int>(call.operator_()));
      if (op.starts_with(kOwnOperators)) continue;
      exir::DelegateCost::GenericKernel& generic = by_operator[op];
      generic.op = op;
      ++generic.calls;
      for (uint32_t value : call.arguments()) generic.bytes += BytesOf(method, value);
      for (uint32_t value : call.outputs()) generic.bytes += BytesOf(method, value);
    }
    for (auto& [op, generic] : by_operator) cost.generic.push_back(std::move(generic));
  }
  std::sort(cost.generic.begin(), cost.generic.end(), [](const auto& a, const auto& b) {
    return std::tie(b.bytes, a.op) < std::tie(a.bytes, b.op);
  });
  return cost;
}

}  // namespace belay::cpu
