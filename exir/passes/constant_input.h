// Helpers for passes that read, add and erase tensors of a program.
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

// Returns "<prefix><n>" with the first n >= `next` that is not the name of a tensor of the program.
// Sets `next` to n + 1.
std::string UnusedTensorName(const ExportedProgram& program, std::string_view prefix, int& next);
// Returns `wish` or "<wish>_1", "<wish>_2", …, the first that is unused.
std::string UnusedTensorName(const ExportedProgram& program, std::string_view wish);

// Returns the position of the first user input; parameters, buffers and constants precede it.
size_t EndOfConstants(const ExportedProgram& program);

// Inserts an input into the top graph, whose editor is `top`, and into the signature. The caller
// adds its tensor `target`: a buffer to the state, a constant to the constants.
ValueId InsertConstantInput(ExportedProgram& program, GraphEditor& top, size_t position,
                            std::string_view name, std::string_view target, ValueType type,
                            InputKind kind = InputKind::kTensorConstant);

// Erases the inputs of the top graph, whose editor is `top`, for which `erased` is true. Also
// erases their entries in the signature and the tensors that no other input names. Returns whether
// any were erased. `erased` is called once per input with its original position. Precondition: they
// have no users and are not returned.
bool EraseInputs(ExportedProgram& program, GraphEditor& top,
                 absl::FunctionRef<bool(size_t position)> erased);

// The inputs of the top graph whose tensors are constant: parameters, buffers and constants.
// Excludes replaceable tensors; those that the program writes to, and that share storage with those;
// and those whose gradient the program returns, because they are trained. Added and erased inputs
// are in the graph immediately, and in the signature and the tensor maps after Finish().
class ConstantInputs {
 public:
  // `program` and `top`, the editor of its top graph, must outlive this. `changing` names further
  // tensors that are not constant: those that another method of the program writes to.
  ConstantInputs(ExportedProgram& program, GraphEditor& top,
                 const absl::btree_set<std::string>& changing);

  // Returns nullptr for a value that is not one of these inputs.
  const ConstantTensor* Find(ValueId input) const;
  // Returns its fully qualified name. Precondition: Find does not return nullptr.
  const std::string& NameOf(ValueId input) const { return kept_.at(input).name; }
  absl::Span<const ValueId> inputs() const { return order_; }

  // Returns the bytes that a file saves if these distinct inputs are all erased. Equal storage
  // counts once and only if no other input uses it.
  uint64_t FreedBytes(absl::Span<const ValueId> inputs) const;

  // Adds a tensor constant after the existing ones. It is stored in the same file as `source`, an
  // input that it is derived from, if that is one of these inputs. Precondition: `fqn` is unused.
  ValueId Add(std::string_view name, const std::string& fqn, ConstantTensor tensor, TensorMeta type,
              ValueId source = {});
  // Adds a constant derived from `source`: "fc.weight" and the suffix "_scaled" make
  // "fc.weight_scaled", or "fc.weight_scaled_1" if that is used. Precondition: Find(source).
  ValueId AddDerived(ValueId source, std::string_view suffix, ConstantTensor tensor);
  // Erases an input. Precondition: no users and not returned when Finish is called. Returns
  // FreedBytes. A second call has no effect.
  uint64_t Drop(ValueId input);
  // O(inputs), plus the cost of erasing inputs.
  void Finish();

 private:
  struct Kept {
    std::string name;
    ConstantTensor tensor;
    std::string file;
  };
  using Place = std::pair<const void*, uint64_t>;  // of the first element, and bytes
  static Place PlaceOf(const ConstantTensor& tensor);

  ExportedProgram& program_;
  GraphEditor& top_;
  size_t end_;  // EndOfConstants
  std::vector<ValueId> order_;
  absl::flat_hash_map<ValueId, Kept> kept_;
  absl::flat_hash_map<Place, size_t> readers_;  // input counts, also those not in kept_
  std::vector<InputSpec> added_;
  absl::flat_hash_set<ValueId> dropped_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_CONSTANT_INPUT_H_
