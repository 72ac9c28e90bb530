#include "exir/emit/memory_bank.h"

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/utf8.h"
#include "runtime/schema/file_format.h"

namespace belay::exir {

absl::Status CheckBanks(absl::Span<const MemoryBank> banks) {
  if (banks.size() > kMostBanks) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kMostBanks, " memory banks, got ", banks.size()));
  }
  for (size_t i = 0; i < banks.size(); ++i) {
    const MemoryBank& bank = banks[i];
    const auto error = [&](const std::string& message) {
      return absl::InvalidArgumentError(
          absl::StrCat("memory bank '", absl::CHexEscape(bank.name), "': ", message));
    };
    if (bank.name.empty() || !IsUtf8(bank.name)) return error("expected a name in UTF-8");
    for (size_t k = 0; k < i; ++k) {
      if (banks[k].name == bank.name) return error("the name of an earlier bank");
    }
    if (bank.bytes == 0) return error("expected a size above 0");
    if (bank.bytes == MemoryBank::kUnlimited && i + 1 < banks.size()) {
      return error("only the last bank may be unlimited");
    }
    if (!IsBankAlignment(bank.alignment)) {
      return error(absl::StrCat("expected an alignment that is a power of two from ",
                                kTensorAlignment, " to ", kMostBankAlignment, ", got ",
                                bank.alignment));
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
