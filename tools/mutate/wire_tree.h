// A Protocol Buffers message as an editable tree of fields, parsed without its schema.
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
  std::string bytes;                // kBytes that do not parse as a message
  std::vector<WireField> children;  // kBytes that parse as one
  bool is_message = false;
};

// Parses bytes that could be a message: fields only, no field number 0, no groups. This is a guess,
// since short strings and packed numbers may look like messages. Writing reproduces the bytes if
// their varints have no superfluous zeros. Returns nullopt if `bytes` are not a message.
std::optional<std::vector<WireField>> ParseWire(std::string_view bytes);
std::string WriteWire(const std::vector<WireField>& fields);

// Edits some fields anywhere in the tree. Numbers get boundary values or those of other fields;
// bytes are flipped, cut or extended. Fields are removed, repeated, swapped, moved, renumbered or
// added. The result is at most about 64 kB larger. Linear in the tree.
void EditFields(Random& random, std::vector<WireField>& fields);

}  // namespace belay::mutate

#endif  // BELAY_TOOLS_MUTATE_WIRE_TREE_H_
