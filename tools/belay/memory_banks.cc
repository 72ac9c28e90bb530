#include "tools/belay/memory_banks.h"

#include <cstdint>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

// Digits only: SimpleAtoi also accepts signs and blanks.
std::optional<uint64_t> ParseBytes(std::string text) {
  uint64_t unit = 1;
  if (!text.empty() && (text.back() == 'K' || text.back() == 'M')) {
    unit = text.back() == 'K' ? 1024 : 1024 * 1024;
    text.pop_back();
  }
  uint64_t count = 0;
  if (text.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(text, &count)) {
    return std::nullopt;
  }
  return CheckedMul(count, unit);
}

}  // namespace

absl::StatusOr<std::vector<exir::MemoryBank>> ParseMemoryBanks(
    const std::vector<std::string>& options) {
  std::vector<exir::MemoryBank> banks;
  for (const std::string& text : options) {
    const size_t equals = text.find('=');
    const std::string rest = equals == std::string::npos ? "" : text.substr(equals + 1);
    const size_t colon = rest.find(':');
    exir::MemoryBank bank{.name = text.substr(0, equals)};
    const std::string size = rest.substr(0, colon);
    const auto bytes = size == "unlimited" ? exir::MemoryBank::kUnlimited : ParseBytes(size);
    const auto alignment =
        colon == std::string::npos ? bank.alignment : ParseBytes(rest.substr(colon + 1));
    if (!bytes.has_value() || !alignment.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--bank: expected NAME=SIZE or NAME=SIZE:ALIGNMENT with a size in bytes, "
                       "'64K', '2M' or 'unlimited', got '",
                       OneLine(text), "'"));
    }
    bank.bytes = *bytes;
    bank.alignment = *alignment;
    banks.push_back(std::move(bank));
  }
  const absl::Status status = exir::CheckBanks(banks);
  if (!status.ok()) return Annotate(status, "--bank");
  return banks;
}

absl::Status ParseMemoryPlanners(const std::vector<std::string>& options, exir::EmitOptions& emit) {
  for (const std::string& text : options) {
    const size_t colon = text.rfind(':');
    const std::string method = colon == std::string::npos ? "" : text.substr(0, colon);
    const std::string name = colon == std::string::npos ? text : text.substr(colon + 1);
    std::string& planner = colon == std::string::npos ? emit.memory.planner : emit.planners[method];
    if (name.empty() || colon == 0 || !planner.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--memory-planner: expected NAME or METHOD:NAME, once per method, got '",
                       OneLine(text), "'"));
    }
    planner = name;
  }
  return absl::OkStatus();
}

}  // namespace belay::tools
