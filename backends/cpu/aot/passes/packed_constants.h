// Derives constants from a program's own: packed weights, biases, sums and scales.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/aot/constant_view.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/table_layout.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "runtime/kernels/packed/weight_only_weights.h"
#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay::cpu {

// Adds constant inputs to the top graph of a program through `editor`. The same elements derived in
// the same way yield the same input. A constant is named after its source: "fc.weight" packed is
// "fc.weight_packed0", a bias "fc.weight_bias0", with the first free number.
//   kResourceExhausted  no memory, or more bytes than the budget allows (runtime/core/budget.h)
//   kInvalidArgument    the packed form is too large
class PackedConstants {
 public:
  PackedConstants(exir::ExportedProgram& program, exir::GraphEditor& editor)
      : program_(program), editor_(editor) {}

  // Packed weights of float32, bfloat16 or int8 in the layouts of their kernels (packed_weights.h
  // and quantized_weights.h of runtime/kernels/packed). bfloat16 is packed in the VNNI-2 layout.
  // Precondition of all: static sizes. B [k, n] of the matmul A B.
  absl::StatusOr<exir::ValueId> Matrix(const ConstantView& matrix);
  // B [k, n], of bfloat16 or int8, for matmuls with weights in `format` (weight_only_weights.h).
  // Precondition: the elements are in the range of the format.
  absl::StatusOr<exir::ValueId> WeightOnlyMatrix(const ConstantView& matrix, WeightFormat format);
  // B [k, n] packed as a table of `layout` (table_layout.h). Preconditions as for the two above.
  absl::StatusOr<exir::ValueId> InLayout(const ConstantView& matrix, TableLayout layout);
  // B [k, n] of a replaceable tensor, packed in `layout` when the delegate is initialized: an input
  // with the name of a PackedParameter. nullopt if B is not all of the tensor, as stored or
  // transposed. Precondition: `layout` is kFloat32 or kVnni2, with the dtype of the tensor.
  absl::StatusOr<std::optional<exir::ValueId>> Replaceable(const ConstantView& matrix,
                                                           TableLayout layout);
  // Convolution weight [o, c, h, w] as the matrix [h * w * c, o]. int8 is packed for PackedTaps of
  // `window`, whose kernel_size is that of the weight (Conv2dCall and QuantizedConv2dCall).
  absl::StatusOr<exir::ValueId> Filters(const ConstantView& weight, const Window& window);
  // int8 weight [o, c / groups, h, w] for belay_cpu::quantized_grouped_conv2d.
  absl::StatusOr<exir::ValueId> QuantizedGroups(const ConstantView& weight, int64_t groups);
  // The weight [o, c / groups, ...] of a convolution over 2 or 3 dimensions, or [c, o / groups, ...] of a
  // transposed one, for belay_cpu::convolution (convolution_calls.h), or
  // belay_cpu::bfloat16_convolution. Precondition: float32 or bfloat16, sizes that `window` and
  // `groups` have.
  absl::StatusOr<exir::ValueId> VolumeFilters(const ConstantView& weight, int64_t groups,
                                              const VolumeWindow& window);
  // That of [o, c, 3, 3] for belay_cpu::winograd_conv2d, or of [o, c, planes, 3, 3] for
  // belay_cpu::winograd_convolution (winograd_weights.h). Precondition: float32.
  absl::StatusOr<exir::ValueId> WinogradFilters(const ConstantView& weight, WinogradTile tile);
  // The weight [c, 1, h, w] of a depthwise convolution. bfloat16 is packed as float32.
  absl::StatusOr<exir::ValueId> DepthwiseFilters(const ConstantView& weight);

  // The tensor converted to float32, row-major. Precondition: static, of bfloat16 or float16.
  absl::StatusOr<exir::ValueId> Widened(const ConstantView& view);
  // int8 elements times their scale, row-major: one of `scales`, or one per index of `axis`.
  // Precondition: static, of int8.
  absl::StatusOr<exir::ValueId> Dequantized(const ConstantView& elements,
                                            absl::Span<const float> scales,
                                            std::optional<int> axis);
  // The tensor rounded to bfloat16, row-major. Precondition: static, of float32.
  absl::StatusOr<exir::ValueId> Narrowed(const ConstantView& view);
  // All elements in row-major order as a one-dimensional float32 tensor. Returns the constant
  // itself if it has that form. Precondition: float32 or bfloat16.
  absl::StatusOr<exir::ValueId> Vector(const ConstantView& elements);
  // For int8: the sum over each index of dimension `channels`, as int32.
  absl::StatusOr<exir::ValueId> Sums(const ConstantView& weight, int channels);
  // These floats, as a constant named after that of `after`. Without `sizes` it is one-dimensional.
  absl::StatusOr<exir::ValueId> Floats(const ConstantView& after, std::string_view suffix,
                                       absl::Span<const float> floats, const Sizes& sizes = {});
  // Elements [first, first + count) of a one-dimensional float32 constant. Shares its bytes.
  // Precondition: they exist.
  absl::StatusOr<exir::ValueId> Part(const ConstantView& vector, int64_t first, int64_t count);
  // Sums of each group of rows of int8 `weight` [k, n], packed in the layout of its scales.
  absl::StatusOr<exir::ValueId> GroupSums(const ConstantView& weight, int64_t group);
  // Scales or zero points [groups, n] of `weight` [k, n], packed for the same matmuls.
  absl::StatusOr<exir::ValueId> GroupFloats(const ConstantView& weight, std::string_view suffix,
                                            int64_t group, absl::Span<const float> floats);
  // Scales of GroupFloats for dynamically quantized matmuls: bfloat16 if that is exact.
  absl::StatusOr<exir::ValueId> GroupScales(const ConstantView& weight, int64_t group,
                                            absl::Span<const float> scales);

 private:
  // Name suffix of a derived constant, and its derivation where several share a suffix.
  struct Form {
    std::string suffix, way = {};
  };
  // Returns the constant of `count` elements that `make` computes from the view's elements in
  // `order`. Without `sizes` it is one-dimensional. A constant with the same elements, form and
  // types is reused.
  template <class From, class To, class Make>
  absl::StatusOr<exir::ValueId> Add(const ConstantView& view, const Form& form,
                                    absl::Span<const uint8_t> order, std::optional<int64_t> count,
                                    Make make, const Sizes& sizes = {});
  // Packs a float32 matrix [k, n] by PackMatrix. The strides are those of the view's elements in
  // `order`. If the columns are contiguous, copies and packs a few MiB of them at a time.
  absl::StatusOr<exir::ValueId> AddMatrix(const ConstantView& view, absl::Span<const uint8_t> order,
                                          int64_t k, int64_t n, int64_t row_stride,
                                          int64_t column_stride);
  // As Add; `make` gets the result's memory and reads the tensor's elements itself.
  template <class From, class To, class Make>
  absl::StatusOr<exir::ValueId> AddFromTensor(const ConstantView& view, const Form& form,
                                              std::optional<int64_t> count, Make make,
                                              const Sizes& sizes = {});
  // These elements, as a constant named after that of `after`. Without `sizes` it is
  // one-dimensional.
  template <class T>
  absl::StatusOr<exir::ValueId> Elements(const ConstantView& after, std::string_view suffix,
                                         absl::Span<const T> elements, const Sizes& sizes = {});
  template <class T>
  absl::StatusOr<exir::ValueId> Insert(const ConstantView& after, std::string_view suffix,
                                       std::string key, exir::Storage elements, Sizes sizes = {});

  exir::ExportedProgram& program_;
  exir::GraphEditor& editor_;
  absl::btree_map<std::string, exir::ValueId> made_;  // key: derivation and source elements
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_PACKED_CONSTANTS_H_
