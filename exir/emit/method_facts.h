// Queries about a method, shared by the stages after MethodBuilder.
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

// Calls `fn` with a value or, for a list, with each of its elements. Lists do not nest.
inline void ForEachElement(const schema::Method& method, uint32_t value,
                           absl::FunctionRef<void(uint32_t)> fn) {
  const schema::Value& v = method.values(static_cast<int>(value));
  if (!v.has_list()) return fn(value);
  for (uint32_t element : v.list().elements()) fn(element);
}

// Values that an instruction reads and writes; lists are expanded to their elements. The
// destination of an in-place operator is in both.
struct Operands {
  std::vector<uint32_t> reads, writes;
};
Operands OperandsOf(const schema::Method& method, const schema::Instruction& instruction);

// Counts, by value, the instructions that write it.
std::vector<uint32_t> CountWriters(const schema::Method& method);

// Start positions of the basic blocks, ascending; includes 0 and the number of instructions.
std::vector<uint32_t> BlockStarts(const schema::Method& method);

// Name of a kernel call's operator; "" for other instructions.
std::string_view OperatorOf(const schema::Method& method, const schema::Instruction& instruction);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_METHOD_FACTS_H_
