// Finds activations whose channels can be scaled without changing the results of the program:
//
//   y = x W^T   ->   y = (x / s) (W * s)^T      a factor s[c] per channel c of x
//
// The division is folded into the producers of x, as the weight and bias of a layer or a norm; or
// it becomes a multiplication of x.
#ifndef BELAY_EXIR_QUANTIZE_CHANNEL_SITES_H_
#define BELAY_EXIR_QUANTIZE_CHANNEL_SITES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/weight_uses.h"

namespace belay::exir {

// Maps the elements of a constant to channels. With groups, dimension 0 is divided into groups of
// equal size; group g has the channels g * sizes[axis] + c.
struct ChannelAxis {
  int axis = 0;
  int64_t groups = 1;
  bool operator==(const ChannelAxis&) const = default;
};

// An argument that is a constant, or transpositions of one that have no other users.
struct ChannelConstant {
  NodeId node;          // uses the constant
  size_t argument = 0;  // of the node
  ValueId constant;
  ChannelAxis channels;
};

struct ChannelSite {
  ValueId value;          // x: float32, [..., channels], or [n, channels, ...] for convolutions
  bool is_image = false;  // whether dimension 1 has the channels
  int64_t channels = 0;
  std::vector<WeightUse> anchors;        // multiply x by a constant, in execution order
  std::vector<ChannelConstant> weights;  // of the anchors
  std::vector<NodeId> users;             // of x: the anchors, or views of x as a matrix
  // Constants whose division by s divides x. Empty if x has other users, or other producers than
  // layers, norms, products of one of these and any tensor, and positively homogeneous functions
  // (relu, leaky relu, pools).
  std::vector<ChannelConstant> producers;

  bool folds() const { return !producers.empty(); }
};

// Finds the sites of `anchors`, which are linear layers and convolutions. A site has all of them
// that use its value. Excludes anchors whose weights have other users. Tensors in `changing` are not
// constant. O(nodes).
std::vector<ChannelSite> FindChannelSites(ExportedProgram& program,
                                          const absl::btree_set<std::string>& changing,
                                          absl::Span<const WeightUse> anchors);

// Returns the channel of each element of a contiguous tensor.
std::vector<uint32_t> ChannelsOf(const Sizes& sizes, ChannelAxis channels);

// Constants that are multiplied by factors. Programs that scale a constant alike share the result.
// Not thread-safe.
class ScaledConstants {
 public:
  using Factors = std::vector<std::pair<ChannelAxis, std::vector<float>>>;
  // Errors of ConstantTensor::Dense.
  absl::StatusOr<ConstantTensor> Scale(const ConstantTensor& tensor, const Factors& factors);

 private:
  struct Entry {
    ConstantTensor from;  // keeps its bytes alive, so that no other constant has their address
    Factors factors;
    ConstantTensor scaled;
  };
  std::vector<Entry> entries_;
};

// Scales each site by its factors s, which are positive; `scales` is parallel to `sites`, and empty
// for those that stay. Constants "fc.weight" become "fc.weight_scaled". Errors of OpBuilder and
// ScaledConstants::Scale.
absl::Status ScaleChannels(ExportedProgram& program, const absl::btree_set<std::string>& changing,
                           absl::Span<const ChannelSite> sites,
                           absl::Span<const std::vector<float>> scales, ScaledConstants& cache);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_CHANNEL_SITES_H_
