// What a node of a payload says besides its type: each type has a table of fields of its own.
#ifndef BELAY_BACKENDS_XNNPACK_NODE_FIELDS_H_
#define BELAY_BACKENDS_XNNPACK_NODE_FIELDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/xnnpack/graph.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

// The values that a node reads and writes, by the payload's ids.
struct Operands {
  std::vector<uint32_t> inputs;
  uint32_t output = 0;
  uint32_t flags = 0;
  bool last_is_optional = false;  // the last input may be kInvalidId: there is none
};
inline constexpr uint32_t kInvalidId = UINT32_MAX;

// Fills the numbers of `node`, whose type is `wire`'s: window, numbers, more_numbers, number.
//   kInvalidArgument  no fields; numbers that are not as many as the node says, or that no
//                     window can have
// Precondition: the verifier found the fields to be of the node's type and inside of the payload.
absl::StatusOr<Operands> ReadNodeFields(const fb::Node& wire, Node& node);

// The numbers of a list, which may be missing: as many as `count` says, if it says it, and no more
// than a value can have dimensions; else kInvalidArgument. "4 numbers for 3 dimensions" is the
// mistake that counts next to lists make.
absl::StatusOr<Sizes> ReadNumbers(const flatbuffers::Vector<uint32_t>* numbers,
                                  std::optional<uint32_t> count);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NODE_FIELDS_H_
