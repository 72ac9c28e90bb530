// Reads the type-specific fields of a payload's nodes.
#ifndef BELAY_BACKENDS_XNNPACK_NODE_FIELDS_H_
#define BELAY_BACKENDS_XNNPACK_NODE_FIELDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/xnnpack/graph.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

// Ids in the payload of the values that a node reads and writes.
struct OperandIds {
  std::vector<uint32_t> inputs;
  uint32_t output = 0;
  uint32_t flags = 0;
  bool last_is_optional = false;  // the last input may be kInvalidId: omitted
};
inline constexpr uint32_t kInvalidId = UINT32_MAX;

// Returns false for unknown node types, and for those without an implementation: ArgMaxPooling2d and
// ScaledDotProductAttention.
bool HasNodeFields(NodeType type);

// Sets the parameters of `node` from `wire`: window, numbers, more_numbers, number.
//   kInvalidArgument  the fields are missing; a list does not have the declared length, or a window
//                     has an impossible parameter
// Precondition: HasNodeFields, and the verifier accepted the fields for the node's type.
absl::StatusOr<OperandIds> ReadNodeFields(const fb::Node& wire, Node& node);

// Reads a list of numbers, which may be missing. kInvalidArgument unless it has `count` elements,
// if given, and at most the maximum number of dimensions. Catches a count that contradicts its
// list: "4 numbers for 3 dimensions".
absl::StatusOr<Sizes> ReadNumbers(const flatbuffers::Vector<uint32_t>* numbers,
                                  std::optional<uint32_t> count);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NODE_FIELDS_H_
