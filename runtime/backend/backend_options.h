// Options of backends on the device: the table of a backend, the values that callers set, checks.
#ifndef BELAY_RUNTIME_BACKEND_BACKEND_OPTIONS_H_
#define BELAY_RUNTIME_BACKEND_BACKEND_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay {

using OptionValue = std::variant<bool, int64_t, std::string>;

// A row of a backend's table.
struct BackendOption {
  std::string_view name;
  std::string_view about;                    // for lists of options
  OptionValue default_value;                 // has the option's type
  int64_t min = INT64_MIN, max = INT64_MAX;  // of an int
  bool changeable = false;                   // whether Method::SetBackendOption changes it
};
using BackendOptionTable = absl::Span<const BackendOption>;

// Values by the name of the option.
using OptionValues = std::map<std::string, OptionValue, std::less<>>;
// Values by the id of the backend.
using BackendOptions = std::map<std::string, OptionValues, std::less<>>;

// Valid values of all options of some backends. Implemented by BackendSettings, so that binaries that
// set no options do not link it.
class OptionLookup {
 public:
  virtual ~OptionLookup() = default;
  virtual const OptionValues* Find(std::string_view backend) const = 0;  // null: the defaults
};

// "true", "4", "text".
std::string FormatOptionValue(const OptionValue& value);
// "threads: int, 1 to 256, default 256".
std::string DescribeOption(const BackendOption& option);

// Returns the row of an option. kInvalidArgument: no such option; lists the backend's options.
absl::StatusOr<const BackendOption*> FindOption(std::string_view backend, BackendOptionTable table,
                                                std::string_view name);
// Returns the row if the value is valid. kInvalidArgument: no such option, the type differs, or the
// value is out of range.
absl::StatusOr<const BackendOption*> CheckOption(std::string_view backend, BackendOptionTable table,
                                                 std::string_view name, const OptionValue& value);
// Returns the value of a string: "true" and "false", decimal digits, or the string itself,
// depending on the option's type. Errors of CheckOption.
absl::StatusOr<OptionValue> ParseOption(std::string_view backend, BackendOptionTable table,
                                        std::string_view name, std::string_view text);
// Returns the values of all options of the table: the given ones, else the defaults. Errors of
// CheckOption.
absl::StatusOr<OptionValues> ResolveOptions(std::string_view backend, BackendOptionTable table,
                                            const OptionValues& given);

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_BACKEND_OPTIONS_H_
