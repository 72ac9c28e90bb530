// Constants that passes make of a program's own: packed weights and biases.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "backends/cpu/aot/constant_view.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"

namespace belay::cpu {

// Adds inputs to the top graph of a program, of which `editor` is. What was made of the same elements
// in the same way before is the same input. A constant is called after the one that it was made of:
// "fc.weight" packed is "fc.weight_packed0", a bias "fc.weight_bias0", with the first number that is
// free.
//   kResourceExhausted  no memory
//   kInvalidArgument    the packed form is too large
class PackedConstants {
 public:
  PackedConstants(exir::ExportedProgram& program, exir::GraphEditor& editor)
      : program_(program), editor_(editor) {}

  // B [k, n] of A B (runtime/kernels/packed/packed_weights.h). Precondition of all: float32, static.
  absl::StatusOr<exir::ValueId> Matrix(const ConstantView& matrix);
  // The weight [o, c, h, w] of a convolution as the matrix [h * w * c, o].
  absl::StatusOr<exir::ValueId> Filters(const ConstantView& weight);
  // The weight [c, 1, h, w] of a depthwise convolution.
  absl::StatusOr<exir::ValueId> DepthwiseFilters(const ConstantView& weight);
  // All elements in row-major order as a tensor of one dimension; the constant itself when it is
  // that.
  absl::StatusOr<exir::ValueId> Vector(const ConstantView& elements);

 private:
  // The constant of so many floats that `pack` writes, which gets the view's elements in `order`.
  template <class Pack>
  absl::StatusOr<exir::ValueId> Add(const ConstantView& view, std::string_view suffix,
                                    absl::Span<const uint8_t> order, std::optional<int64_t> floats,
                                    Pack pack);

  exir::ExportedProgram& program_;
  exir::GraphEditor& editor_;
  absl::btree_map<std::string, exir::ValueId> made_;  // by what was made of which elements
};

// Drops parameters, buffers and tensor constants that nothing uses, with their tensors.
bool DropUnusedConstants(exir::ExportedProgram& program, exir::GraphEditor& editor);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_
