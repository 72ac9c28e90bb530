// What the stages after MethodBuilder ask about a method again and again.
#ifndef BELAY_EXIR_EMIT_METHOD_FACTS_H_
#define BELAY_EXIR_EMIT_METHOD_FACTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/schema/program.pb.h"

namespace belay::exir {

inline bool IsArenaTensor(const schema::Value& value) {
  return value.has_tensor() && value.tensor().location_case() == schema::Tensor::kArenaOffset;
}

inline uint64_t TensorBytes(const schema::Tensor& tensor) {
  uint64_t bytes = DTypeSize(static_cast<DType>(tensor.dtype()));
  for (int64_t size : tensor.sizes()) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

// Calls `fn` with a value or, for a list, with its elements. Lists hold no lists.
inline void ForEachElement(const schema::Method& method, uint32_t value,
                           absl::FunctionRef<void(uint32_t)> fn) {
  const schema::Value& v = method.values(static_cast<int>(value));
  if (!v.has_list()) return fn(value);
  for (uint32_t element : v.list().elements()) fn(element);
}

// The values that an instruction reads and writes, elements of lists one by one. What an operator
// that works in place writes to is among both.
struct Operands {
  std::vector<uint32_t> reads, writes;
};
Operands OperandsOf(const schema::Method& method, const schema::Instruction& instruction);

// By value: how many instructions write it.
std::vector<uint32_t> CountWriters(const schema::Method& method);

// Where stretches that are only entered at their start and left at their end begin; ascending, 0
// and the number of instructions included.
std::vector<uint32_t> BlockStarts(const schema::Method& method);

// The name of a kernel call's operator; "" for other instructions.
std::string_view OperatorOf(const schema::Method& method, const schema::Instruction& instruction);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_METHOD_FACTS_H_
