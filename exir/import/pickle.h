// Parses the subset of Python's pickle language that torch.save uses for tensors. Source:
// docs/pt2-format.md §11.
//
// Executes and imports nothing: the result is a tree of plain values, in which a call is only a
// name with its arguments. Opcodes and names outside the allow-lists abort parsing. Never recurses.
#ifndef BELAY_EXIR_IMPORT_PICKLE_H_
#define BELAY_EXIR_IMPORT_PICKLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay::exir {

struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,        // integer
    kInt,         // integer
    kFloat,       // number
    kString,      // text
    kTuple,       // items
    kList,        // items
    kDict,        // items: key, value, key, value, …; also collections.OrderedDict
    kGlobal,      // text: "module\nname", as in the pickle
    kCall,        // items: the global, the tuple of arguments
    kPersistent,  // items: the persistent id
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double number = 0;
  std::string_view text;  // points into the pickle
  std::vector<uint32_t>
      items;  // indices into Pickle::values; may be cyclic through lists and dicts
};

struct Pickle {
  std::vector<PickleValue> values;
  uint32_t root = 0;
  const PickleValue& operator[](uint32_t index) const { return values[index]; }
};

// `allowed` tells which globals are permitted ("torch._utils _rebuild_tensor_v2");
// collections.OrderedDict always is.
//   kUnimplemented      a forbidden opcode or global, or an integer beyond int64
//   kDataLoss           the pickle is truncated
//   kInvalidArgument    the pickle is malformed
//   kResourceExhausted  the pickle creates more than `max_values` values, or memory is exhausted
// Time and memory are linear in the number of bytes.
absl::StatusOr<Pickle> ParsePickle(absl::Span<const std::byte> bytes,
                                   absl::FunctionRef<bool(std::string_view)> allowed,
                                   uint64_t max_values);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_PICKLE_H_
