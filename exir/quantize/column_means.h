// Means of the inputs that the weights of an operator are multiplied by, for bias correction.
#ifndef BELAY_EXIR_QUANTIZE_COLUMN_MEANS_H_
#define BELAY_EXIR_QUANTIZE_COLUMN_MEANS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "exir/ir/exported_program.h"
#include "exir/quantize/weight_uses.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {

// How an operator reads its input. The columns of its weight matrix [n, k] (MatrixOf) are:
//
//   linear       the last dimension of the input
//   convolution  channel of the group, then kernel position, row-major
struct InputGeometry {
  int64_t groups = 1;
  std::vector<int64_t> kernel;  // spatial sizes; empty for linear
  std::vector<int64_t> stride, padding, dilation;
  bool operator==(const InputGeometry&) const = default;
};

// Returns the geometry of a matmul or convolution. nullopt for an embedding, and if a stride,
// padding or dilation is not a constant.
std::optional<InputGeometry> GeometryOf(const ExportedProgram& program, const WeightUse& use);

// Sums of the elements that each column of a weight is multiplied by, over all outputs of all
// calls. Padding counts as 0. Thread-compatible.
class ColumnMeans {
 public:
  explicit ColumnMeans(InputGeometry geometry) : geometry_(std::move(geometry)) {}

  // Adds one input, float32. Ignored if its rank does not fit the geometry, or if an element that
  // is read is NaN or infinite. O(outputs / output channels * columns).
  void Add(const TensorView& input);
  // Returns the means [groups, columns]. Empty if nothing was added.
  std::vector<double> Means() const;

 private:
  void Accumulate(const std::vector<double>& sums, double outputs);

  InputGeometry geometry_;
  std::vector<double> sums_;
  double outputs_ = 0;  // per output channel
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_COLUMN_MEANS_H_
