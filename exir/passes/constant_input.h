// Tensors of a program that passes read, add and drop.
#ifndef BELAY_EXIR_PASSES_CONSTANT_INPUT_H_
#define BELAY_EXIR_PASSES_CONSTANT_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {

// "<prefix><n>" with the first n from `next` on that names no tensor of the program. Moves `next`
// behind it.
std::string UnusedTensorName(const ExportedProgram& program, std::string_view prefix, int& next);
// `wish`, or "<wish>_1", "<wish>_2", …
std::string UnusedTensorName(const ExportedProgram& program, std::string_view wish);

// The position of the first input that is the user's: parameters, buffers and constants are before
// it.
size_t EndOfConstants(const ExportedProgram& program);

// Makes an input of the top graph, of which `top` is an editor, and of the signature. Its tensor,
// called `target`, is the caller's to add: a buffer to the state, a constant to the constants.
ValueId InsertConstantInput(ExportedProgram& program, GraphEditor& top, size_t position,
                            std::string_view name, std::string_view target, ValueType type,
                            InputKind kind = InputKind::kTensorConstant);

// Erases the inputs of the top graph, of which `top` is an editor, that `erased` is true of, with their
// part of the signature and the tensors that no other input names. Returns whether there were any.
// `erased` is asked once for each, of its position before. Precondition: they have no users and are
// not returned.
bool EraseInputs(ExportedProgram& program, GraphEditor& top,
                 absl::FunctionRef<bool(size_t position)> erased);

// The inputs of the top graph whose tensors stay what they are: parameters, buffers and constants,
// but for what the program writes to, what shares its storage, and what the program returns the
// gradient of, which somebody trains. What is added and dropped is in the graph at once, and in the
// signature and the maps of tensors after Finish().
class ConstantInputs {
 public:
  // `program` and `top`, the editor of its top graph, must outlive this. `changing` names more
  // tensors that do not stay: those that another method of the program writes to.
  ConstantInputs(ExportedProgram& program, GraphEditor& top,
                 const absl::btree_set<std::string>& changing);

  // nullptr for a value that is none of these inputs.
  const ConstantTensor* Find(ValueId input) const;
  // Its fully qualified name. Precondition: Find.
  const std::string& NameOf(ValueId input) const { return kept_.at(input).name; }
  absl::Span<const ValueId> inputs() const { return order_; }

  // What a file no longer holds when these inputs, each once, are dropped together: equal storage
  // is there once, however many inputs read it.
  uint64_t FreedBytes(absl::Span<const ValueId> inputs) const;

  // A tensor constant behind the others. Precondition: no tensor is called `fqn`.
  ValueId Add(std::string_view name, const std::string& fqn, ConstantTensor tensor,
              TensorMeta type);
  // Precondition: no users and not returned when Finish is called. Returns FreedBytes. A second
  // time is nothing.
  uint64_t Drop(ValueId input);
  // O(inputs) but for what dropping an input costs.
  void Finish();

 private:
  struct Kept {
    std::string name;
    ConstantTensor tensor;
  };
  using Place = std::pair<const void*, uint64_t>;  // of the first element, and bytes
  static Place PlaceOf(const ConstantTensor& tensor);

  ExportedProgram& program_;
  GraphEditor& top_;
  size_t end_;  // EndOfConstants
  std::vector<ValueId> order_;
  absl::flat_hash_map<ValueId, Kept> kept_;
  absl::flat_hash_map<Place, size_t> readers_;  // inputs, also those that are not kept
  std::vector<InputSpec> added_;
  absl::flat_hash_set<ValueId> dropped_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_CONSTANT_INPUT_H_
