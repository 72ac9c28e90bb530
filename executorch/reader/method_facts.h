// What is known of one method's values and instructions, as far as the parts of the reader have
// come: value_reader.h, step_reader.h and memory_places.h fill it in, in this order, and
// method_writer.h makes Belay's method of it.
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

// A value of the method; values keep their indices when they are translated.
struct ValueFacts {
  KernelTypes kind = KernelTypes::NONE;
  const EValue* value = nullptr;  // of the kind, which is checked

  // Tensors: from the file.
  TensorLayout layout;
  bool dynamic = false;
  // Where the file puts it. A tensor without memory may be an input, an output or a view.
  enum class Memory : uint8_t { kNone, kPlanned, kConstant };
  Memory memory = Memory::kNone;
  uint64_t offset = 0;  // kPlanned: in the method's arena, in which its pools lie one after another
  // The bytes of a constant, or what a planned tensor holds at first.
  std::optional<absl::Span<const std::byte>> content;

  // From inputs, outputs and instructions.
  bool input = false, output = false;
  bool read = false;
  bool written = false;  // as a whole, by a kernel, a delegate or a move
  bool updated = false;  // in place, by an operator that reads it as well
  int32_t view_of = -1;  // the tensor whose memory et_view gives it
  bool several_views = false;
  // Scalars that instructions compute: the kind of the result.
  std::optional<ScalarKind> computed;

  // Tensors: where Belay puts it.
  enum class Place : uint8_t {
    kUnused,       // nothing needs it
    kConstant,     // `content`
    kArena,        // at `offset`
    kState,        // at `offset` of the state
    kExternal,     // an input in the caller's memory
    kCopiedInput,  // in the arena at `offset`, where the method copies the input first
  };
  Place place = Place::kUnused;

  bool is_tensor() const { return kind == KernelTypes::Tensor; }
};

// An instruction; steps of all chains stand one after another.
struct Step {
  InstructionArguments kind = InstructionArguments::NONE;
  uint32_t chain = 0, instruction = 0;   // where it is in the file
  const PortableOperator* op = nullptr;  // KernelCall
  uint32_t delegate = 0;                 // DelegateCall: index into the plan's delegates
  const flatbuffers::Vector<int32_t>* args = nullptr;  // of calls; all are values
  uint32_t outputs = 0;                // DelegateCall: so many of the last arguments
  uint32_t from = 0, to = 0;           // MoveCall
  uint32_t condition = 0, target = 0;  // JumpFalseCall: a value and a step, or their number
};

// Whether the operator gives a tensor the memory of another one: et_view.
inline bool IsView(const PortableOperator& op) {
  return op.name == "executorch_prim::et_view.default";
}

struct MethodFacts {
  const ExecutionPlan* plan = nullptr;
  std::string name;  // "method 'forward'", for messages
  std::vector<ValueFacts> values;
  std::vector<Step> steps;
  uint64_t arena_bytes = 0, state_bytes = 0;

  // Where a step comes from, "model.py:12": the innermost frame of the file's stack trace, which
  // ExecuTorch's exporter writes when it is asked to. "" when there is none, or one that is no UTF-8
  // or longer than paths are.
  std::string SourceOf(const Step& step) const;
  // Where a step is in the file, what it calls and where it comes from, for messages.
  std::string PlaceOf(const Step& step) const;
};

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_METHOD_FACTS_H_
