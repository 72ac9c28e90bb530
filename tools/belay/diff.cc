// `belay diff`: compares two program files part by part.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/program.h"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_diff.h"
#include "tools/belay/program_file.h"

namespace belay::tools {
namespace {

using nlohmann::json;

struct Diff {
  bool identical = false;  // all bytes are equal
  std::vector<PartDiff> parts;
};

absl::StatusOr<Diff> DiffFiles(const DiffOptions& options, WithinLimits& limits) {
  const auto open = [&](const std::string& path) {
    return OpenProgramFile(path, {options.limits.ForPrograms(), {}});
  };
  const auto describe = [](const std::string& path,
                           const Program& program) -> absl::StatusOr<std::vector<ProgramPart>> {
    absl::StatusOr<std::vector<ProgramPart>> parts = DescribeParts(program);
    if (!parts.ok()) return Annotate(parts.status(), path);
    return parts;
  };
  ABSL_ASSIGN_OR_RETURN(const Program before, open(options.before));
  limits.Add(before);
  ABSL_ASSIGN_OR_RETURN(const Program after, open(options.after));
  limits.Add(after);
  ABSL_ASSIGN_OR_RETURN(const std::vector<ProgramPart> a, describe(options.before, before));
  ABSL_ASSIGN_OR_RETURN(const std::vector<ProgramPart> b, describe(options.after, after));
  return Diff{absl::c_equal(before.bytes(), after.bytes()), DiffParts(a, b)};
}

// "120", "f32[2,3]"; "none" for a missing fact.
std::string FactText(const json& fact) {
  if (fact.is_null()) return "none";
  return OneLine(fact.is_string() ? fact.get<std::string>() : fact.dump());
}

// " (+12.5 %)" if both are numbers.
std::string Growth(const json& before, const json& after) {
  if (!before.is_number() || !after.is_number() || before.get<double>() == 0) return "";
  return absl::StrFormat(" (%+.1f %%)", 100 * (after.get<double>() / before.get<double>() - 1));
}

void PrintText(const DiffOptions& options, const Diff& diff) {
  for (const PartDiff& part : diff.parts) {
    std::cout << OneLine(part.name) << ":";
    if (part.only_before || part.only_after) {
      std::cout << " only in " << OneLine(part.only_before ? options.before : options.after)
                << "\n";
      continue;
    }
    std::cout << "\n";
    for (const PartDifference& d : part.differences) {
      std::cout << "  " << OneLine(d.name) << ": " << FactText(d.before) << " -> "
                << FactText(d.after) << Growth(d.before, d.after) << "\n";
    }
  }
  if (diff.identical) {
    std::cout << "the files are identical\n";
  } else if (diff.parts.empty()) {
    std::cout << "all parts are equal, but the files are not: literals, order or offsets differ\n";
  }
}

json ToJson(const Diff& diff) {
  json parts = json::array();
  for (const PartDiff& part : diff.parts) {
    json entry{{"name", part.name}, {"differences", json::array()}};
    if (part.only_before) entry["only_in"] = "before";
    if (part.only_after) entry["only_in"] = "after";
    for (const PartDifference& d : part.differences) {
      entry["differences"].push_back({{"name", d.name}, {"before", d.before}, {"after", d.after}});
    }
    parts.push_back(std::move(entry));
  }
  return {{"identical", diff.identical}, {"parts", std::move(parts)}};
}

}  // namespace

int DiffPrograms(const DiffOptions& options) {
  WithinLimits limits(options.limits, {options.before, options.after});
  const absl::StatusOr<Diff> diff = DiffFiles(options, limits);
  if (!diff.ok()) return Report(diff.status());
  if (options.json) {
    std::cout << JsonText(ToJson(*diff));
  } else {
    PrintText(options, *diff);
  }
  return diff->identical ? kDone : kNegative;
}

Command DiffCommand() {
  const auto diff = std::make_shared<DiffOptions>();
  return {
      .name = "diff",
      .about =
          "Compares two program files (.belay, .pte) part by part: operators, delegates, "
          "constants, "
          "memory and sizes.",
      .options = WithLimits({{"before", &diff->before, "the first program", {.required = true}},
                             {"after", &diff->after, "the second program", {.required = true}},
                             {"--json", &diff->json, "prints JSON"}},
                            &diff->limits),
      .footer =
          "Exit status 1 if the files differ.\n"
          "Example: belay diff old.belay new.belay",
      .owned = diff,
      .run = [diff] { return DiffPrograms(*diff); },
  };
}

}  // namespace belay::tools
