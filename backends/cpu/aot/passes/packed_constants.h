// Constants that passes make of a program's own: packed weights, biases, sums and scales.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/convolution_calls.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay::cpu {

// Adds inputs to the top graph of a program, of which `editor` is. What was made of the same elements
// in the same way before is the same input. A constant is called after the one that it was made of:
// "fc.weight" packed is "fc.weight_packed0", a bias "fc.weight_bias0", with the first number that is
// free.
//   kResourceExhausted  no memory, or more bytes than the budget allows (runtime/core/budget.h)
//   kInvalidArgument    the packed form is too large
class PackedConstants {
 public:
  PackedConstants(exir::ExportedProgram& program, exir::GraphEditor& editor)
      : program_(program), editor_(editor) {}

  // Weights of float32, bfloat16 or int8 as the kernels for them read them (packed_weights.h and
  // quantized_weights.h of runtime/kernels/packed), those of bfloat16 as pairs. Precondition of all:
  // static.
  // B [k, n] of A B.
  absl::StatusOr<exir::ValueId> Matrix(const ConstantView& matrix);
  // B [k, n], of bfloat16 or int8, for products with weights of that format (weight_only_weights.h).
  // Precondition: elements that the format has.
  absl::StatusOr<exir::ValueId> WeightOnlyMatrix(const ConstantView& matrix, WeightFormat format);
  // The weight [o, c, h, w] of a convolution as the matrix [h * w * c, o]; of int8 in PackedTaps of
  // `window`, whose size is that of the weight (Conv2dCall and QuantizedConv2dCall).
  absl::StatusOr<exir::ValueId> Filters(const ConstantView& weight, const Window& window);
  // The weight [o, c / groups, ...] of a convolution over 2 or 3 dimensions, or [c, o / groups, ...] of a
  // transposed one, for belay_cpu::convolution (convolution_calls.h). Precondition: float32, sizes that
  // `window` and `groups` have.
  absl::StatusOr<exir::ValueId> VolumeFilters(const ConstantView& weight, int64_t groups,
                                              const VolumeWindow& window);
  // That of [o, c, 3, 3] for belay_cpu::winograd_conv2d (winograd_weights.h). Precondition: float32.
  absl::StatusOr<exir::ValueId> WinogradFilters(const ConstantView& weight);
  // The weight [c, 1, h, w] of a depthwise convolution.
  absl::StatusOr<exir::ValueId> DepthwiseFilters(const ConstantView& weight);

  // The same tensor of float32, row by row. Precondition: static, of bfloat16 or float16.
  absl::StatusOr<exir::ValueId> Widened(const ConstantView& view);
  // The same tensor of bfloat16, rounded, row by row. Precondition: static, of float32.
  absl::StatusOr<exir::ValueId> Narrowed(const ConstantView& view);
  // All elements in row-major order as a tensor of float32 and one dimension; the constant itself
  // when it is that. Precondition: float32 or bfloat16.
  absl::StatusOr<exir::ValueId> Vector(const ConstantView& elements);
  // Of int8: for each place of dimension `channels` the sum of the elements there, as int32.
  absl::StatusOr<exir::ValueId> Sums(const ConstantView& weight, int channels);
  // These floats, called after the constant of `after`.
  absl::StatusOr<exir::ValueId> Floats(const ConstantView& after, std::string_view suffix,
                                       absl::Span<const float> floats);
  // The sums of each group of rows of `weight` [k, n], of int8, packed as those scales are.
  absl::StatusOr<exir::ValueId> GroupSums(const ConstantView& weight, int64_t group);
  // Scales or zero points [groups, n] of `weight` [k, n], packed for the same products.
  absl::StatusOr<exir::ValueId> GroupFloats(const ConstantView& weight, std::string_view suffix,
                                            int64_t group, absl::Span<const float> floats);

 private:
  // What is made of elements: how it is called, and how it is made, where others are called alike.
  struct Form {
    std::string suffix, way = {};
  };
  // The constant of `count` elements, of `sizes` if there are any and else of one dimension, that
  // `make` makes of the view's elements in `order`. One that is of the same elements, form and types
  // is taken for it.
  template <class From, class To, class Make>
  absl::StatusOr<exir::ValueId> Add(const ConstantView& view, const Form& form,
                                    absl::Span<const uint8_t> order, std::optional<int64_t> count,
                                    Make make, const Sizes& sizes = {});
  template <class T>
  absl::StatusOr<exir::ValueId> Insert(const ConstantView& after, std::string_view suffix,
                                       std::string key, exir::Storage elements, Sizes sizes = {});

  exir::ExportedProgram& program_;
  exir::GraphEditor& editor_;
  absl::btree_map<std::string, exir::ValueId> made_;  // by what was made of which elements
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_
