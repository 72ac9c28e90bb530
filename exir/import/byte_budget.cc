#include "exir/import/byte_budget.h"

#include <cstdlib>
#include <limits>
#include <memory>

#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

absl::StatusOr<Storage> Wrap(void* memory, uint64_t bytes, std::string_view what) {
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": no memory for ", bytes, " bytes"));
  }
  Storage storage;
  storage.owner =
      std::shared_ptr<const void>(memory, [](const void* p) { std::free(const_cast<void*>(p)); });
  storage.bytes = absl::MakeConstSpan(static_cast<const std::byte*>(memory), bytes);
  return storage;
}

bool TooLarge(uint64_t bytes) {
  return bytes > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max());
}

}  // namespace

absl::Status ByteBudget::Take(uint64_t bytes, std::string_view what) {
  if (bytes > remaining_) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": needs ", bytes, " bytes, but only ",
                                                     remaining_, " of ", limit_name_, " = ", limit_,
                                                     " are left"));
  }
  remaining_ -= bytes;
  return absl::OkStatus();
}

absl::StatusOr<Storage> AllocateZeros(uint64_t bytes, std::string_view what) {
  // Allocate one extra byte, so that even an empty allocation has a unique address.
  return Wrap(TooLarge(bytes) ? nullptr : std::calloc(bytes + 1, 1), bytes, what);
}

absl::StatusOr<Storage> AllocateBytes(uint64_t bytes, std::string_view what, std::byte** data) {
  void* memory = TooLarge(bytes) ? nullptr : std::malloc(bytes + 1);
  *data = static_cast<std::byte*>(memory);
  return Wrap(memory, bytes, what);
}

}  // namespace belay::exir
