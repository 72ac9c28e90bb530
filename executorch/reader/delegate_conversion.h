// Replaces delegates of other runtimes by delegates of a backend of this one when a program is
// opened. The reader has no compiler; callers that have one pass it as a function.
#ifndef BELAY_EXECUTORCH_READER_DELEGATE_CONVERSION_H_
#define BELAY_EXECUTORCH_READER_DELEGATE_CONVERSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/named_data_map.h"
#include "runtime/core/sizes.h"
#include "runtime/program/limits.h"
#include "runtime/program/program_parts.h"
#include "runtime/schema/program.pb.h"

namespace belay::pte {

// An argument or an output of a delegate's call.
struct DelegateTensor {
  // A scalar argument: a size that the partition received, which payloads do not use. It has no
  // other properties, and converted delegates do not have the argument.
  bool is_scalar = false;
  DType dtype = DType::kFloat32;
  Sizes sizes;         // the largest, if they are dynamic
  DimOrder dim_order;  // a permutation of the dimensions
  bool dynamic = false;
  bool operator==(const DelegateTensor&) const = default;
};

// A delegate as the file has it.
struct ForeignDelegate {
  std::string_view method;
  uint32_t index = 0;  // in the method, for messages
  std::string_view backend_id;
  absl::Span<const std::byte> payload;
  std::vector<DelegateTensor> arguments, outputs;  // of its calls
};

struct ConvertedDelegate {
  std::string backend_id;
  absl::Span<const std::byte> blob;
};
struct ConvertedDelegates {
  std::vector<std::optional<ConvertedDelegate>> delegates;  // nullopt: is not converted
  std::vector<NamedDataPlan> named_data;                    // unique keys
  // Why delegates were not converted: "method 'forward', delegate 0: …".
  std::vector<std::string> notes;
  std::shared_ptr<const void> owner;  // of all bytes
};

// Converts the delegates of all methods of a file. `named_data` and the payloads outlive the
// program. `limits` are those of the file. Errors fail the opening of the program.
using DelegateConverter = std::function<absl::StatusOr<ConvertedDelegates>(
    absl::Span<const ForeignDelegate> delegates, const NamedDataMap& named_data,
    const Limits& limits, uint64_t file_bytes)>;

// Calls the converter, appends its notes to `notes`, and replaces the delegates in `metadata` and
// `parts`, whose named data is sorted by key. If all are replaced, the file's named data is
// removed: only delegates use it.
// Calls of replaced delegates lose their scalar arguments. Delegates with a list among their
// arguments, an output that is not a tensor, or several calls whose tensors differ, are not
// converted, with a note. Returns the owner of the new bytes, null if nothing was converted.
//   kInvalidArgument  new named data with a key of the file and other bytes
//   errors of the converter
// Postcondition of an error: `metadata` and `parts` are not used any more.
absl::StatusOr<std::shared_ptr<const void>> ConvertDelegates(const DelegateConverter& converter,
                                                             const Limits& limits,
                                                             schema::Program& metadata,
                                                             ProgramParts& parts,
                                                             std::vector<std::string>& notes);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_DELEGATE_CONVERSION_H_
