// A Protocol Buffers message as a tree of fields, without its schema, to be edited and written
// again.
#ifndef BELAY_TOOLS_MUTATE_WIRE_TREE_H_
#define BELAY_TOOLS_MUTATE_WIRE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/random.h"

namespace belay::mutate {

struct WireField {
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint32_t number = 1;
  Type type = Type::kVarint;
  uint64_t value = 0;               // kVarint, kFixed64, kFixed32
  std::string bytes;                // kBytes that are no message
  std::vector<WireField> children;  // kBytes that are
  bool is_message = false;
};

// Bytes that could be a message (all of them fields, none of number 0, no groups) become one, which
// is a guess: short strings and packed numbers may look like messages, too. Writing gives the same
// bytes if they were written as writers do, without superfluous zeros in varints. nullopt: `bytes`
// themselves are no message.
std::optional<std::vector<WireField>> ParseWire(std::string_view bytes);
std::string WriteWire(const std::vector<WireField>& fields);

// Changes some fields, anywhere in the tree: numbers get interesting values or those of other
// fields; bytes are flipped, cut, extended; fields are removed, repeated, swapped, moved,
// renumbered; unknown ones come. The result is at most about 64 kB larger. Linear in the tree.
void EditFields(Random& random, std::vector<WireField>& fields);

}  // namespace belay::mutate

#endif  // BELAY_TOOLS_MUTATE_WIRE_TREE_H_
