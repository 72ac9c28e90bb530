// Reads the signature of an exported program. Source: docs/pt2-format.md §8.
#ifndef BELAY_EXIR_IMPORT_SIGNATURE_READER_H_
#define BELAY_EXIR_IMPORT_SIGNATURE_READER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/import/json.h"
#include "exir/ir/graph.h"
#include "exir/ir/graph_signature.h"

namespace belay::exir {

// A value at the boundary of a graph.
struct BoundaryArgument {
  enum class Kind : uint8_t { kTensor, kSymInt, kSymFloat, kSymBool, kCustomObject, kConstant };
  Kind kind = Kind::kTensor;
  std::string_view name;        // "" for constants
  std::string_view class_name;  // for kCustomObject
  ConstantType constant;        // for kConstant
  bool operator==(const BoundaryArgument&) const = default;
};

// Reads a case of the union Argument that is one of these kinds. kInvalidArgument for others.
absl::StatusOr<BoundaryArgument> ReadBoundaryArgument(JsonRef ref);

struct ArchiveSignature {
  struct Input {
    InputSpec spec;
    BoundaryArgument argument;    // constants also have the spec's name
    bool any_value_kind = false;  // the spec has only a name, no kind
  };
  struct Output {
    OutputSpec spec;  // target: as in the archive
    BoundaryArgument argument;
    bool any_value_kind = false;
  };
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

absl::StatusOr<ArchiveSignature> ReadSignature(JsonRef ref);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_SIGNATURE_READER_H_
