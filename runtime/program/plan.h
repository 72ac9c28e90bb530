// Validated contents of a program file, created once when the file is opened (program.h).
// Afterwards, no integers are read from the file again. Every index is in range, every size fits,
// every range is inside its memory.
#ifndef BELAY_RUNTIME_PROGRAM_PLAN_H_
#define BELAY_RUNTIME_PROGRAM_PLAN_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"

namespace belay {

// Its dimensions are stored in its method (MethodPlan::sizes, dim_orders), which must outlive it.
struct TensorPlan {
  enum class Location : uint8_t { kConstant, kArena, kState, kExternal };
  DType dtype = DType::kFloat32;
  Location location = Location::kExternal;
  uint32_t dynamic_dims = 0;             // bit d
  absl::Span<const int64_t> sizes;       // upper bounds for dynamic dimensions
  absl::Span<const uint8_t> dim_order;   // a permutation
  uint64_t offset = 0;                   // kArena, kState: the tensor at its maximum size is inside
  absl::Span<const std::byte> constant;  // kConstant: exactly the tensor's bytes
  uint64_t max_bytes = 0;                // of all elements, at maximum size
  bool is_static() const { return dynamic_dims == 0; }
};
enum class ScalarKind : uint8_t { kInt = 1, kDouble = 2, kBool = 3 };
// "int", "float", "bool".
inline std::string_view ScalarKindName(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::kInt:
      return "int";
    case ScalarKind::kDouble:
      return "float";
    case ScalarKind::kBool:
      return "bool";
  }
  return "invalid";
}
struct ListPlan {
  std::vector<uint32_t> elements;  // smaller than the list's own index
};
using ValuePlan = std::variant<None, int64_t, double, bool, std::string, TensorPlan, ListPlan,
                               DType, MemoryFormat, std::complex<double>, ScalarKind>;

struct SizeConstraint {
  uint32_t dim = 0;
  int64_t min = 0;
  int64_t max = 0;
  std::string symbol;  // "" for none
  int64_t multiplier = 1;
  int64_t offset = 0;
};
struct InputPlan {
  uint32_t value = 0;  // external tensor, scalar slot, or a constant that the input must equal
  std::string name;
  std::vector<SizeConstraint> constraints;
  bool mutated = false;
};
struct StatePlan {
  std::string name;
  uint32_t value = 0;                                  // a static tensor in kState
  std::optional<absl::Span<const std::byte>> initial;  // exactly its bytes; nullopt: zeros
};
// A part of the arena: bytes [begin, begin + bytes).
struct BankPlan {
  std::string name = {};    // unique; "" for the only bank of a file that names none
  uint64_t begin = 0;       // the end of the bank before it
  uint64_t bytes = 0;       // the arena tensors of the bank are inside, at their maximum sizes
  uint64_t alignment = 64;  // of the bank's address; a power of two from 64 to kMostBankAlignment
};
// Index of the bank of the arena tensors at this offset: the last one that begins at or before it.
// Precondition: `banks` are those of a plan.
inline size_t BankAt(absl::Span<const BankPlan> banks, uint64_t offset) {
  size_t bank = banks.size() - 1;
  while (banks[bank].begin > offset) --bank;
  return bank;
}
struct CompileSpecPlan {
  std::string key;
  std::string value;
};
struct DelegatePlan {
  std::string backend_id;
  absl::Span<const std::byte> blob;
  std::vector<CompileSpecPlan> compile_specs;
};

// The range of a call in MethodPlan::operands: its arguments, followed by its outputs.
struct OperandRange {
  uint32_t first = 0, arguments = 0, outputs = 0;
};
struct KernelCallPlan {
  uint32_t op = 0;  // index into MethodPlan::operators
  OperandRange operands;
};
struct DelegateCallPlan {
  uint32_t delegate = 0;
  OperandRange operands;
};
struct MovePlan {
  // Of the same kind: a literal or slot to a slot; tensors of one dtype and rank.
  uint32_t from = 0, to = 0;
};
struct JumpIfFalsePlan {
  uint32_t condition = 0;  // a bool, a bool slot, or a static bool tensor of one element
  uint32_t target = 0;     // <= number of instructions
};
struct JumpPlan {
  uint32_t target = 0;
};
using InstructionPlan =
    std::variant<KernelCallPlan, DelegateCallPlan, MovePlan, JumpIfFalsePlan, JumpPlan>;

// A validated method. Instructions write to: a tensor in the arena or in the state, a `mutated`
// input, a scalar slot that is not an input, or a list of tensors in the arena or in the state. An
// output that is None is dropped. The memory of an output is disjoint from that of all other
// operands of its instruction, with two exceptions. An operator whose name says that it works in
// place may have an argument that is the output. An operator in the tables of
// runtime/schema/operator_facts.h may have an argument at exactly the output's position, or, if it
// keeps all bytes, a dynamic one at the output's offset. Every
// delegate is called. All calls of a delegate have operands of the same kinds and sizes, and equal
// literals. Lists contain no lists. External tensors are inputs, and each input has its own value.
struct MethodPlan {
  static constexpr uint64_t kLargestFixedArena = uint64_t{32} << 20;
  std::string name;
  // Storage of the dimensions of all tensors in `values`.
  std::vector<std::unique_ptr<int64_t[]>> sizes;
  std::vector<std::unique_ptr<uint8_t[]>> dim_orders;
  std::vector<ValuePlan> values;
  std::vector<InputPlan> inputs;
  std::vector<uint32_t> outputs;
  std::vector<std::string> operators;
  std::vector<DelegatePlan> delegates;
  std::vector<InstructionPlan> instructions;
  std::vector<uint32_t> operands;  // value indices of all calls, concatenated
  uint64_t arena_bytes = 0;
  uint64_t state_bytes = 0;
  std::vector<BankPlan> banks;  // 1 to kMostBanks, consecutive, as large as the arena
  // The arena has one unnamed bank, tensors of dynamic sizes, and more than kLargestFixedArena
  // bytes: only address space is reserved for it.
  bool reserves_arena = false;
  std::vector<StatePlan> state;
  std::string in_spec, out_spec;

  absl::Span<const uint32_t> arguments_of(const OperandRange& range) const {
    return absl::MakeConstSpan(operands).subspan(range.first, range.arguments);
  }
  absl::Span<const uint32_t> outputs_of(const OperandRange& range) const {
    return absl::MakeConstSpan(operands).subspan(range.first + range.arguments, range.outputs);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_PLAN_H_
