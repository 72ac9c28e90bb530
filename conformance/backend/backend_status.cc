#include "conformance/backend/backend_status.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/aot_backends.h"
#include "conformance/backend/call_program.h"
#include "conformance/ops/op_case.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

// A backend's answers for the calls of an operator.
struct OperatorRow {
  size_t calls = 0, whole = 0, in_part = 0;
  std::set<DType> dtypes;  // of the first tensor in calls that are delegated completely
  std::string reason;      // of the first call that is not
};

std::optional<DType> FirstDType(const CallProgram& call) {
  for (const exir::OwnedValue& input : call.inputs) {
    if (input.tensor() != nullptr) return input.tensor()->dtype;
  }
  return std::nullopt;
}

void Add(OperatorRow& row, const exir::OpOverload& op, const OpCase& op_case,
         const exir::OpRegistry& ops, const exir::Partitioner& partitioner) {
  std::optional<Offer> best;
  std::optional<DType> dtype;
  for (const OnlyInput& only_input : kOnlyInputs) {
    const absl::StatusOr<CallProgram> call =
        MakeCallProgram(op, op_case, only_input, ops, {&partitioner});
    if (!call.ok()) continue;
    absl::StatusOr<Offer> offer = OfferTo(partitioner, call->program);
    if (!offer.ok()) offer = Offer{1, 0, std::string(offer.status().message())};
    if (offer->nodes == 0) continue;  // the result is an input
    dtype = FirstDType(*call);
    if (!best.has_value() || offer->taken > best->taken || offer->whole()) best = *std::move(offer);
    if (best->whole()) break;
  }
  if (!best.has_value()) return;
  ++row.calls;
  if (best->whole()) {
    ++row.whole;
    if (dtype.has_value()) row.dtypes.insert(*dtype);
    return;
  }
  row.in_part += best->taken > 0;
  if (row.reason.empty()) row.reason = best->reason.empty() ? "no reason given" : best->reason;
}

// Escapes a string for a table cell.
std::string Cell(const std::string& text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}});
}

}  // namespace

absl::StatusOr<std::string> BackendStatus(const std::string& backend, const std::string& cases,
                                          const std::string& command) {
  ABSL_ASSIGN_OR_RETURN(const auto partitioner, CreatePartitioner(backend, {}));
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> files, OpCaseFiles(cases));
  std::string rows;
  size_t taken = 0, offered = 0;
  std::map<std::string, std::vector<std::string>> refused;  // operators by reason
  for (const std::string& path : files) {
    ABSL_ASSIGN_OR_RETURN(const OpCaseFile file, ReadOpCaseFile(path));
    const exir::OpOverload* op = ops->Find(file.op);
    if (op == nullptr || op->schema() == nullptr) continue;
    OperatorRow row;
    for (const OpCase& op_case : file.cases) Add(row, *op, op_case, *ops, *partitioner);
    if (row.calls == 0) continue;
    ++offered;
    if (row.whole + row.in_part == 0) {
      // Merges reasons that differ only in the operator's name.
      refused[absl::StrReplaceAll(row.reason, {{file.op, "…"}})].push_back(file.op);
      continue;
    }
    ++taken;
    std::vector<std::string> dtypes;
    for (const DType dtype : row.dtypes) dtypes.emplace_back(DTypeShortName(dtype));
    absl::StrAppend(&rows, "| ", file.op, " | ", row.whole, " of ", row.calls, " | ", row.in_part,
                    " | ", absl::StrJoin(dtypes, " "), " | ", Cell(row.reason), " |\n");
  }
  std::string text = absl::StrCat(
      "# Operators that ", backend, " takes\n\nWritten by `", command,
      "`; a test compares.\nCalls are those of PyTorch's vectors that give tensors, each as an "
      "edge "
      "program of its own: all tensors are inputs, or, where the backend does\nnot take that, all "
      "but one are parameters. *In part*: some nodes of what the call is in the edge "
      "dialect. "
      "*Dtypes*: of the first tensor in\ncalls that are taken. *Refused*: why not the first of the "
      "others.\n\n",
      backend, " takes calls of ", taken, " of ", offered, " operators.\n");
  if (taken > 0) {
    absl::StrAppend(&text,
                    "\n| operator | calls | in part | dtypes | refused |\n"
                    "| --- | --- | --- | --- | --- |\n",
                    rows);
  }
  if (!refused.empty()) {
    absl::StrAppend(&text, "\n| why no call is taken | operators |\n| --- | --- |\n");
  }
  for (const auto& [reason, names] : refused) {
    absl::StrAppend(&text, "| ", Cell(reason), " | ", absl::StrJoin(names, " "), " |\n");
  }
  return text;
}

std::string FirstDifferentLine(const std::string& is, const std::string& should_be) {
  std::istringstream a(is), b(should_be);
  for (size_t number = 1;; ++number) {
    std::string left, right;
    const bool more_left = static_cast<bool>(std::getline(a, left));
    const bool more_right = static_cast<bool>(std::getline(b, right));
    if (!more_left && !more_right) return is == should_be ? "" : "the end of the last line differs";
    if (more_left == more_right && left == right) continue;
    return absl::StrCat("line ", number, " is      ", more_left ? left : "(missing)",
                        "\nand should be  ", more_right ? right : "(missing)");
  }
}

}  // namespace belay::conformance
