#include "conformance/status/operator_index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_join.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

std::string FirstDType(const OpCase& op_case) {
  if (const CaseTensor* tensor = FirstTensor(op_case)) {
    return std::string(DTypeShortName(tensor->dtype));
  }
  for (const auto& [name, value] : op_case.kwargs) {
    if (const DType* dtype = std::get_if<DType>(&value)) {
      return std::string(DTypeShortName(*dtype));
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<OpCaseFile>> ReadOpCaseFiles(const std::string& folder) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> paths, OpCaseFiles(folder));
  std::vector<OpCaseFile> files;
  for (const std::string& path : paths) {
    ABSL_ASSIGN_OR_RETURN(files.emplace_back(), ReadOpCaseFile(path));
  }
  std::sort(files.begin(), files.end(),
            [](const OpCaseFile& a, const OpCaseFile& b) { return a.op < b.op; });
  return files;
}

const CaseTensor* FirstTensor(const CaseValue& value) {
  if (const auto* tensor = std::get_if<CaseTensor>(&value)) return tensor;
  if (const auto* list = std::get_if<std::vector<std::optional<CaseTensor>>>(&value)) {
    for (const std::optional<CaseTensor>& tensor : *list) {
      if (tensor.has_value()) return &*tensor;
    }
  }
  return nullptr;
}

const CaseTensor* FirstTensor(const OpCase& op_case) {
  for (const CaseValue& value : op_case.args) {
    if (const CaseTensor* tensor = FirstTensor(value)) return tensor;
  }
  for (const auto& [name, value] : op_case.kwargs) {
    if (const CaseTensor* tensor = FirstTensor(value)) return tensor;
  }
  return nullptr;
}

std::string OperatorIndex(absl::Span<const OpCaseFile> files) {
  size_t all = 0, all_errors = 0;
  std::map<std::string, std::pair<size_t, size_t>> families;  // operators and cases
  std::string rows;
  for (const OpCaseFile& file : files) {
    size_t errors = 0;
    std::set<std::string> dtypes;
    for (const OpCase& op_case : file.cases) {
      errors += op_case.error.has_value();
      if (const std::string dtype = FirstDType(op_case); !dtype.empty()) dtypes.insert(dtype);
    }
    std::vector<std::string> sets;
    for (const char* tag : {"core", "view_copy", "portable", "quantized", "dim_order"}) {
      const auto found = file.tags.find(tag);
      if (found != file.tags.end() && found->second) sets.push_back(tag);
    }
    all += file.cases.size();
    all_errors += errors;
    auto& [operators, cases] = families[file.family];
    ++operators;
    cases += file.cases.size();
    absl::StrAppend(&rows, "| ", file.op, " | ", file.family, " | ", file.cases.size(), " | ",
                    errors, " | ", absl::StrJoin(dtypes, " "), " | ", absl::StrJoin(sets, " "),
                    " |\n");
  }
  std::string text =
      absl::StrCat("# Index\n\n", files.size(), " operators, ", all, " cases (", all_errors,
                   " of them errors).\n\n", "| Family | Operators | Cases |\n|---|---|---|\n");
  for (const auto& [family, counts] : families) {
    absl::StrAppend(&text, "| ", family, " | ", counts.first, " | ", counts.second, " |\n");
  }
  absl::StrAppend(&text,
                  "\n`portable` means that the ExecuTorch portable kernel library has a kernel for "
                  "it.\n\n| Operator | Family | Cases | Errors | First-input dtypes | Sets |\n"
                  "|---|---|---|---|---|---|\n",
                  rows);
  return text;
}

}  // namespace belay::conformance
