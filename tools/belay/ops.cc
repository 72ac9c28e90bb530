// `belay ops`: every operator and what supports it.
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

#include "exir/ops/standard_ops.h"
#include "nlohmann/json.hpp"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/command.h"
#include "tools/belay/printing.h"

namespace belay::tools {

int Ops(const OpsOptions& options) {
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return Report(ops.status());
  KernelRegistry kernels;
  if (const absl::Status status = AddStandardKernels(kernels); !status.ok()) return Report(status);
  nlohmann::json list = nlohmann::json::array();
  for (const exir::OpOverload* op : (*ops)->Known()) {
    bool reference = false, highway = false;
    for (const Kernel* kernel : kernels.Candidates(op->name())) {
      reference = reference || kernel->engine == KernelEngine::kReference;
      highway = highway || kernel->engine == KernelEngine::kHighway;
    }
    const bool meta = op->def() != nullptr && op->def()->meta != nullptr;
    if (options.json) {
      list.push_back(
          {{"name", op->name()},
           {"dialect", op->dialect() == exir::Dialect::kScalar ? "scalar" : "aten, edge"},
           {"schema", op->schema()->ToString()},
           {"dtypes", std::string(op->def()->dtypes)},
           {"core", op->has_trait(exir::kCore)},
           {"meta", meta},
           {"reference", reference},
           {"highway", highway}});
    } else {
      std::cout << std::left << std::setw(56) << op->name() << (meta ? " meta" : "     ")
                << (reference ? " reference" : "          ") << (highway ? " highway" : "") << "\n";
    }
  }
  if (options.json) std::cout << JsonText(list);
  return kDone;
}

Command OpsCommand() {
  const auto ops = std::make_shared<OpsOptions>();
  return {
      .name = "ops",
      .about = "Lists every operator and what supports it.",
      .options = {{"--json", &ops->json, "prints JSON"}},
      .footer = "Example: belay ops --json",
      .owned = ops,
      .run = [ops] { return Ops(*ops); },
  };
}

}  // namespace belay::tools
