#include "executorch/reader/method_facts.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/core/utf8.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

constexpr size_t kMostPathBytes = 4096;

}  // namespace

std::string MethodFacts::SourceOf(const Step& step) const {
  const auto* traces = plan->chains()->Get(step.chain)->stacktrace();
  if (traces == nullptr || step.instruction >= traces->size()) return "";
  const auto* frames = traces->Get(step.instruction)->items();
  if (frames == nullptr || frames->size() == 0) return "";
  const Frame& frame = *frames->Get(frames->size() - 1);
  const std::string_view file =
      frame.filename() == nullptr ? std::string_view() : frame.filename()->string_view();
  // All instructions may share one name, which is checked for each.
  if (file.empty() || file.size() > kMostPathBytes || !IsUtf8(file)) return "";
  return absl::StrCat(file, ":", frame.lineno());
}

std::string MethodFacts::PlaceOf(const Step& step) const {
  std::string place =
      absl::StrCat(name, ", chain ", step.chain, ", instruction ", step.instruction);
  if (step.op != nullptr) absl::StrAppend(&place, " (", step.op->name, ")");
  const std::string source = SourceOf(step);
  if (!source.empty()) absl::StrAppend(&place, " at ", Quoted(source));
  return place;
}

}  // namespace belay::pte
