// Values that are constants seen through permutations, reshapes and expansions.
#ifndef BELAY_BACKENDS_CPU_AOT_CONSTANT_VIEW_H_
#define BELAY_BACKENDS_CPU_AOT_CONSTANT_VIEW_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exir/ir/argument.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_table.h"

namespace belay::cpu {

// A constant viewed with other sizes and strides. A size may be symbolic if its stride is 0: an
// expansion to a size known at run time.
struct ConstantView {
  exir::ValueId root;                            // the program's input
  const exir::ConstantTensor* tensor = nullptr;  // lives as long as the ConstantViews that found it
  std::vector<exir::SymInt> sizes;
  std::vector<int64_t> strides;

  int rank() const { return static_cast<int>(sizes.size()); }
  // Shares the constant's bytes. nullopt if a size is symbolic or the tensor would be too large.
  std::optional<exir::ConstantTensor> ToTensor() const;
  // Returns the elements in row-major order, for float32, bfloat16, float16, int64, int32, int8
  // and bool. nullopt for other dtypes, if a size is symbolic, or if memory is exhausted.
  std::optional<std::vector<double>> Elements() const;
  // Whether all elements of the constant are finite; true for integers. False if memory is
  // exhausted. O(elements of the constant).
  bool IsFinite() const;
};

// Finds views of constants in the top graph of a program. Nodes, inputs and constants may be added
// and erased meanwhile. Constants that are added after construction are not found.
class ConstantViews {
 public:
  explicit ConstantViews(const exir::ExportedProgram& program);

  // Returns the value as a view of a parameter, buffer or tensor constant that is not replaceable
  // and that nothing mutates. The value is the constant itself, or the result of copying views of it
  // (permute, transpose, expand, reshape, squeeze, unsqueeze, clone) that strides can express.
  // nullopt for any other value. O(views between).
  std::optional<ConstantView> Find(exir::ValueId value) const;
  std::optional<ConstantView> Find(const exir::Argument& argument) const;
  // Returns the argument as a view of a replaceable tensor, whose elements are not known.
  std::optional<ConstantView> FindReplaceable(const exir::Argument& argument) const;

  // Returns the argument as a scalar: a literal, or the element of a one-element constant of dtype
  // float32, float64, bfloat16, float16, int64, int32 or bool. nullopt for anything else.
  std::optional<double> Number(const exir::Argument& argument) const;

 private:
  struct Row;
  static const Row kRows[];  // the operators whose results are views

  const exir::ExportedProgram& program_;
  exir::OpTable<Row> views_;
  using Roots = absl::flat_hash_map<exir::ValueId, exir::ConstantTensor>;
  std::optional<ConstantView> Find(exir::ValueId value, const Roots& roots) const;
  Roots roots_, replaceable_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_CONSTANT_VIEW_H_
