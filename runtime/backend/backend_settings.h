// Checked options of backends for loading methods.
#ifndef BELAY_RUNTIME_BACKEND_BACKEND_SETTINGS_H_
#define BELAY_RUNTIME_BACKEND_BACKEND_SETTINGS_H_

#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/backend/backend_options.h"
#include "runtime/backend/backend_registry.h"

namespace belay {

// Immutable. Needed only while methods are loaded.
class BackendSettings final : public OptionLookup {
 public:
  // Fills in the defaults of the given backends.
  //   kInvalidArgument  a backend that is not registered; errors of CheckOption
  static absl::StatusOr<BackendSettings> Create(const BackendRegistry& backends,
                                                const BackendOptions& given);

  const OptionValues* Find(std::string_view backend) const override;
  const BackendOptions& values() const { return values_; }

 private:
  explicit BackendSettings(BackendOptions values) : values_(std::move(values)) {}
  BackendOptions values_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_BACKEND_SETTINGS_H_
