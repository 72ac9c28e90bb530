#include "runtime/executor/bank_memory.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/program/metadata_path.h"

namespace belay {
namespace {

// The index of the bank; the number of banks if the plan has none of this name.
size_t IndexOf(absl::Span<const BankPlan> banks, std::string_view name) {
  size_t index = 0;
  while (index < banks.size() && banks[index].name != name) ++index;
  return index;
}

}  // namespace

absl::StatusOr<std::vector<std::byte*>> AddressesOfBanks(const MethodPlan& plan,
                                                         absl::Span<const BankMemory> memory) {
  std::vector<std::byte*> addresses(plan.banks.size(), nullptr);
  std::vector<uint8_t> given(plan.banks.size(), 0);
  const auto error = [&](std::string_view name, std::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(
        "method ", Quoted(plan.name), ", memory of bank ", Quoted(name), ": ", message));
  };
  for (const BankMemory& own : memory) {
    const size_t index = IndexOf(plan.banks, own.name);
    if (index == plan.banks.size()) {
      std::vector<std::string> known;
      for (const BankPlan& bank : plan.banks) known.push_back(Quoted(bank.name));
      return error(own.name,
                   absl::StrCat("unknown bank; the method has: ", ListFirst(known, ", ")));
    }
    const BankPlan& bank = plan.banks[index];
    if (given[index] != 0) return error(own.name, "given twice");
    given[index] = 1;
    if (own.bytes.size() < bank.bytes) {
      return error(own.name, absl::StrCat("expected at least ", bank.bytes, " bytes, got ",
                                          own.bytes.size()));
    }
    if (bank.bytes == 0) continue;
    const auto begin = reinterpret_cast<uintptr_t>(own.bytes.data());
    if (begin % bank.alignment != 0) {
      return error(own.name, absl::StrCat("expected an address that is a multiple of ",
                                          bank.alignment, ", got 0x", absl::Hex(begin)));
    }
    for (size_t other = 0; other < plan.banks.size(); ++other) {
      if (addresses[other] == nullptr) continue;
      const auto other_begin = reinterpret_cast<uintptr_t>(addresses[other]);
      // Only the bytes that the banks use must differ.
      if (begin < other_begin + plan.banks[other].bytes && other_begin < begin + bank.bytes) {
        return error(own.name,
                     absl::StrCat("overlaps that of bank ", Quoted(plan.banks[other].name)));
      }
    }
    addresses[index] = own.bytes.data();
  }
  return addresses;
}

}  // namespace belay
