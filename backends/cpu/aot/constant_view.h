// Values that are views of constants: what a weight is behind permutations, reshapes and expansions.
#ifndef BELAY_BACKENDS_CPU_AOT_CONSTANT_VIEW_H_
#define BELAY_BACKENDS_CPU_AOT_CONSTANT_VIEW_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/ir/argument.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_table.h"

namespace belay::cpu {

// The elements of a constant, seen through other sizes and strides. Sizes may be symbolic where the
// stride is 0: an expansion to a size that only the program's run tells.
struct ConstantView {
  exir::ValueId root;                            // the program's input
  const exir::ConstantTensor* tensor = nullptr;  // lives as long as the ConstantViews that found it
  std::vector<exir::SymInt> sizes;
  std::vector<int64_t> strides;

  int rank() const { return static_cast<int>(sizes.size()); }
  // nullopt when a size is symbolic. Shares the constant's bytes.
  std::optional<exir::ConstantTensor> ToTensor() const;
  // The elements in row-major order, of float32, bfloat16, float16, int64, int32 or int8. nullopt for
  // other dtypes, when a size is symbolic, and without memory.
  std::optional<std::vector<double>> Elements() const;
};

// Finds views of constants in the top graph of a program. Nodes, inputs and constants may come and
// go meanwhile; of constants it knows those that there were when it was made.
class ConstantViews {
 public:
  explicit ConstantViews(const exir::ExportedProgram& program);

  // The value as a view of a parameter, buffer or tensor constant that nothing mutates: the constant
  // itself, or what copying views (permute, transpose, expand, reshape, squeeze, unsqueeze, clone)
  // make of it where strides can express that. nullopt for any other value. O(views between).
  std::optional<ConstantView> Find(exir::ValueId value) const;
  std::optional<ConstantView> Find(const exir::Argument& argument) const;

  // The number that the argument is: a literal, or the element of a constant of one element, of
  // dtype float32, float64, bfloat16, float16, int64, int32 or bool. nullopt for anything else.
  std::optional<double> Number(const exir::Argument& argument) const;

 private:
  struct Row;
  static const Row kRows[];  // the operators whose results are views

  const exir::ExportedProgram& program_;
  exir::OpTable<Row> views_;
  absl::flat_hash_map<exir::ValueId, exir::ConstantTensor> roots_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_CONSTANT_VIEW_H_
