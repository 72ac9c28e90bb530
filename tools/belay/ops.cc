// `belay ops`: lists operators and their support.
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "exir/decompositions/standard_decompositions.h"
#include "exir/ops/standard_ops.h"
#include "nlohmann/json.hpp"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/command.h"
#include "tools/belay/nearest_name.h"
#include "tools/belay/printing.h"

namespace belay::tools {

int Ops(const OpsOptions& options) {
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return Report(ops.status());
  KernelRegistry kernels;
  if (const absl::Status status = AddStandardKernels(kernels); !status.ok()) return Report(status);
  nlohmann::json list = nlohmann::json::array();
  std::vector<std::string> names;  // candidates for suggestions
  bool found = false;
  for (const exir::OpOverload* op : (*ops)->Known()) {
    if (!absl::StrContains(op->name(), options.name)) {
      names.push_back(op->name());
      const std::vector<std::string> parts = absl::StrSplit(op->name(), '.');
      names.push_back(parts[1]);  // without the namespace
      continue;
    }
    found = true;
    bool reference = false, highway = false;
    for (const Kernel* kernel : kernels.Candidates(op->name())) {
      reference |= kernel->engine == KernelEngine::kReference;
      highway |= kernel->engine == KernelEngine::kHighway;
    }
    const bool decomposes = exir::StandardDecompositions().Find(op) != nullptr;
    const bool meta = op->def()->meta != nullptr;
    if (options.json) {
      list.push_back(
          {{"name", op->name()},
           {"dialect", op->dialect() == exir::Dialect::kScalar ? "scalar" : "aten, edge"},
           {"schema", op->schema()->ToString()},
           {"dtypes", std::string(op->def()->dtypes)},
           {"core", op->has_trait(exir::kCore)},
           {"meta", meta},
           {"decomposes", decomposes},
           {"reference", reference},
           {"highway", highway}});
    } else {
      std::cout << std::left << std::setw(56) << op->name() << (meta ? " meta" : "     ")
                << (reference ? " reference" : "          ") << (highway ? " highway" : "        ")
                << (decomposes ? " decomposes" : "") << "\n";
    }
  }
  if (!found) {
    const std::string nearest = NearestName(options.name, names);
    std::cerr << "belay: no operator name contains '" << OneLine(options.name) << "'"
              << (nearest.empty() ? "" : " (did you mean " + nearest + "?)") << "\n";
    return kNegative;
  }
  if (options.json) std::cout << JsonText(list);
  return kDone;
}

Command OpsCommand() {
  const auto ops = std::make_shared<OpsOptions>();
  return {
      .name = "ops",
      .about = "Lists operators and their support.",
      .options = {{"name",
                   &ops->name,
                   "lists only operators whose name contains this string",
                   {.not_empty = true}},
                  {"--json", &ops->json, "prints JSON"}},
      .footer =
          "Columns: shape inference (meta), reference kernel, Highway kernel, replaced by other\n"
          "operators during lowering unless a backend keeps it (decomposes).\n"
          "Example: belay ops conv",
      .owned = ops,
      .run = [ops] { return Ops(*ops); },
  };
}

}  // namespace belay::tools
