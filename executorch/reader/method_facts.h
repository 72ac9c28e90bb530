// Intermediate description of one method's values and instructions. value_reader.h, step_reader.h
// and memory_places.h fill it in, in this order; method_writer.h translates it to Belay's method.
#ifndef BELAY_EXECUTORCH_READER_METHOD_FACTS_H_
#define BELAY_EXECUTORCH_READER_METHOD_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "executorch/format/portable_operators.h"
#include "executorch/format/program_generated.h"
#include "executorch/reader/tensor_layout.h"
#include "runtime/program/plan.h"

namespace belay::pte {

// A value of the method; translation keeps value indices.
struct ValueFacts {
  KernelTypes kind = KernelTypes::NONE;
  const EValue* value = nullptr;  // of type `kind` (checked)

  // Tensors: from the file.
  TensorLayout layout;
  bool dynamic = false;
  // Where the file places the tensor. A tensor without memory may be an input, an output or a view.
  enum class Memory : uint8_t { kNone, kPlanned, kConstant };
  Memory memory = Memory::kNone;
  uint64_t offset = 0;  // kPlanned: in the method's arena, the concatenation of its pools
  // The bytes of a constant, or the initial content of a planned tensor.
  std::optional<absl::Span<const std::byte>> content;

  // From inputs, outputs and instructions.
  bool input = false, output = false;
  bool read = false;
  bool written = false;  // as a whole, by a kernel, a delegate or a move
  bool updated = false;  // in place, by an operator that reads it as well
  int32_t view_of = -1;  // the base tensor of an et_view
  bool several_views = false;
  // Kind of the result, for scalars that instructions compute.
  std::optional<ScalarKind> computed;

  // Tensors: where Belay places the tensor.
  enum class Place : uint8_t {
    kUnused,       // not used by any instruction
    kConstant,     // `content`
    kArena,        // at `offset`
    kState,        // at `offset` of the state
    kExternal,     // an input in the caller's memory
    kCopiedInput,  // in the arena at `offset`; the method first copies the input there
  };
  Place place = Place::kUnused;

  bool is_tensor() const { return kind == KernelTypes::Tensor; }
};

// An instruction; the steps of all chains are concatenated.
struct Step {
  InstructionArguments kind = InstructionArguments::NONE;
  uint32_t chain = 0, instruction = 0;   // position in the file
  const PortableOperator* op = nullptr;  // KernelCall
  uint32_t delegate = 0;                 // DelegateCall: index into the plan's delegates
  const flatbuffers::Vector<int32_t>* args = nullptr;  // of calls; all are value indices
  uint32_t outputs = 0;                                // DelegateCall: number of trailing outputs
  uint32_t from = 0, to = 0;                           // MoveCall
  uint32_t condition = 0, target = 0;                  // JumpFalseCall: value index and step index
};

// Returns whether the operator is et_view, whose result aliases another tensor's memory.
inline bool IsView(const PortableOperator& op) {
  return op.name == "executorch_prim::et_view.default";
}

struct MethodFacts {
  const ExecutionPlan* plan = nullptr;
  std::string name;  // "method 'forward'", for messages
  std::vector<ValueFacts> values;
  std::vector<Step> steps;
  uint64_t arena_bytes = 0, state_bytes = 0;

  // Returns the source location of a step, "model.py:12": the innermost frame of the stack trace
  // that ExecuTorch's exporter writes on request. Returns "" if it is missing, not UTF-8, or longer
  // than paths are.
  std::string SourceOf(const Step& step) const;
  // Describes a step in messages: its position in the file, its callee and its source location.
  std::string PlaceOf(const Step& step) const;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_METHOD_FACTS_H_
