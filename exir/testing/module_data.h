// Named data of a lowered module, as a program file provides them to the delegate.
#ifndef BELAY_EXIR_TESTING_MODULE_DATA_H_
#define BELAY_EXIR_TESTING_MODULE_DATA_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/lowered_backend_module.h"
#include "runtime/core/named_data_map.h"

namespace belay::exir {

// `output` must outlive it.
class ModuleData final : public NamedDataMap {
 public:
  explicit ModuleData(const NamedDataOutput& output) : output_(output) {}
  absl::StatusOr<absl::Span<const std::byte>> Find(std::string_view key) const override {
    const auto it = output_.program_data.find(std::string(key));
    if (it == output_.program_data.end()) return absl::NotFoundError("no such named data");
    return output_.buffers[it->second.buffer].bytes;
  }

 private:
  const NamedDataOutput& output_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_MODULE_DATA_H_
