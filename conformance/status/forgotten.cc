#include "conformance/status/forgotten.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "conformance/backend/backend_status.h"
#include "conformance/status/operator_index.h"
#include "conformance/status/operator_status.h"
#include "exir/op_definition/op_variants.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

constexpr char kUpdate[] = "tools/bazel run //conformance/status";

// Returns the operator of a table row; "" for other lines.
std::string OperatorOf(const std::string& line) {
  if (!absl::StartsWith(line, "| ")) return "";
  const std::string cell = line.substr(2, line.find(" |", 2) - 2);
  return absl::StrContains(cell, ".") ? cell : "";
}

std::map<std::string, std::string> RowsOf(const std::string& page) {
  std::map<std::string, std::string> rows;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string op = OperatorOf(line); !op.empty()) rows[op] = line;
  }
  return rows;
}

bool HasReferenceKernel(const KernelRegistry& kernels, const std::string& op) {
  const std::vector<const Kernel*> candidates = kernels.Candidates(op);
  return std::any_of(candidates.begin(), candidates.end(), [](const Kernel* kernel) {
    return kernel->engine == KernelEngine::kReference;
  });
}

// Returns whether the operator needs its own kernel and vectors.
bool IsPrimary(const exir::OpOverload& op) {
  return op.schema() != nullptr && op.has_meta_kernel() && !op.has_trait(exir::kComposite) &&
         KindOf(*op.schema()) == exir::SchemaKind::kFunctional;
}

}  // namespace

std::vector<std::string> Forgotten(const OperatorFiles& files, const exir::OpRegistry& ops,
                                   const KernelRegistry& kernels) {
  std::map<std::string, std::vector<std::string>> missing;  // by operator
  std::set<std::string> with_vectors = files.more;
  for (const OpCaseFile& file : files.cases) with_vectors.insert(file.op);
  for (const exir::OpOverload* op : ops.Known()) {
    if (!IsPrimary(*op)) continue;
    if (!op->has_trait(exir::kSymbolic) && !HasReferenceKernel(kernels, op->name())) {
      missing[op->name()].push_back(
          "no reference kernel, a row in runtime/kernels/reference/<family>.cc");
    }
    const bool needs_vectors =
        !op->has_trait(exir::kSymbolic) && !files.without_vectors.contains(op->name());
    if (needs_vectors && !with_vectors.contains(op->name())) {
      missing[op->name()].push_back(
          absl::StrCat("no vectors, conformance/opcases/", op->name(), ".json"));
    }
  }
  for (const OpCaseFile& file : files.cases) {
    const exir::OpOverload* op = ops.Find(file.op);
    if (op == nullptr || !op->has_meta_kernel()) {
      missing[file.op].push_back("vectors, but no row with a meta kernel in exir/ops/<family>.cc");
    }
  }
  for (const std::string& op : files.without_vectors) {
    if (with_vectors.contains(op)) {
      missing[op].push_back("vectors by now, and still a line in without_vectors.txt");
    } else if (ops.Find(op) == nullptr) {
      missing[op].push_back("no such operator, but a line in without_vectors.txt");
    }
  }
  std::vector<std::string> lines;
  const std::pair<std::string, std::pair<const std::string*, std::string>> pages[] = {
      {"STATUS", {&files.status, OperatorStatus(files.cases, ops, kernels)}},
      {"INDEX", {&files.index, OperatorIndex(files.cases)}}};
  for (const auto& [page, texts] : pages) {
    const auto& [is, should_be] = texts;
    const std::map<std::string, std::string> rows = RowsOf(*is), expected = RowsOf(should_be);
    for (const auto& [op, row] : expected) {
      const auto found = rows.find(op);
      if (found != rows.end() && found->second == row) continue;
      missing[op].push_back(absl::StrCat(found == rows.end() ? "no row" : "an old row", " in ",
                                         page, ", which ", kUpdate, " writes"));
    }
    for (const auto& [op, row] : rows) {
      if (expected.contains(op)) continue;
      missing[op].push_back(
          absl::StrCat("a row in ", page, ", but no vectors; ", kUpdate, " writes the page"));
    }
    if (rows == expected && *is != should_be) {
      lines.push_back(
          absl::StrCat(page, ": run ", kUpdate, ": ", FirstDifferentLine(*is, should_be)));
    }
  }
  for (const auto& [op, what] : missing) {
    lines.push_back(absl::StrCat(op, ": ", absl::StrJoin(what, "; ")));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace belay::conformance
