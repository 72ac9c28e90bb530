// list_kernels ARGUMENTS: lists the kernels and backends that programs need. ARGUMENTS is a file of
// lines KEY=VALUE:
//   output=PATH        output path of the list; runtime.bzl describes its lines
//   program=PATH       a program file; repeatable
//   over_kernels=ID    a backend of BACKENDS_OVER_KERNELS; repeatable
//   own_operator=NAME  an operator whose kernel the application provides; repeatable
// Loads every method with all kernels and backends to find the selected ones. Exit status 1 and no
// output if one can't be loaded: a kernel or a backend is missing.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/runtime_backends.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/kernel_families.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

namespace belay {

#define BELAY_BACKEND(name)                      \
  namespace name {                               \
  std::vector<const BackendRuntime*> Runtimes(); \
  }
#include "backends/backend_list.inc"
#undef BELAY_BACKEND

namespace {

struct Arguments {
  std::string output;
  std::vector<std::string> programs, own_operators;
  std::set<std::string> over_kernels;
};

absl::StatusOr<Arguments> ReadArguments(const char* path) {
  Arguments arguments;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(line, absl::MaxSplits('=', 1));
    const auto& [key, value] = pair;
    if (key == "output") {
      arguments.output = value;
    } else if (key == "program") {
      arguments.programs.push_back(value);
    } else if (key == "over_kernels") {
      arguments.over_kernels.insert(value);
    } else if (key == "own_operator") {
      arguments.own_operators.push_back(value);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", line, "'"));
    }
  }
  return arguments;
}

// Returns all families in order of preference; those of backends over kernels are last.
std::vector<KernelFamily> AllFamilies() {
  std::vector<KernelFamily> families = StandardKernelFamilies();
#define BELAY_KERNEL_FAMILY(function, file) \
  families.push_back({"belay::cpu::" #function, file, cpu::function()});
#include "backends/cpu/kernels/cpu_families.inc"
#undef BELAY_KERNEL_FAMILY
  return families;
}

// Maps backend ids to namespaces in belay.
std::map<std::string, std::string, std::less<>> BackendNamespaces() {
  std::map<std::string, std::string, std::less<>> result;
#define BELAY_BACKEND(name) \
  for (const BackendRuntime* backend : name::Runtimes()) result[std::string(backend->id())] = #name;
#include "backends/backend_list.inc"
#undef BELAY_BACKEND
  return result;
}

// Names of the program files that need a kernel (operator, name) or a backend (id).
struct Needs {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> kernels;
  std::map<std::string, std::set<std::string>> backends;
};

void Collect(const Method& method, const Arguments& arguments, const std::string& program,
             Needs& needs) {
  for (const InstructionInfo& info : method.instructions()) {
    if (info.engine.empty()) continue;
    if (info.engine != "delegate") {
      needs.kernels[{std::string(info.op), std::string(info.kernel)}].insert(program);
      continue;
    }
    const std::string id(info.kernel);
    needs.backends[id].insert(program);
    if (info.method != nullptr && arguments.over_kernels.contains(id)) {
      Collect(*info.method, arguments, program, needs);
    }
  }
}

absl::Status CollectProgram(const std::string& path, const Arguments& arguments,
                            const KernelRegistry& kernels, Needs& needs) {
  const std::string name = path.substr(path.rfind('/') + 1);
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(path));
  for (const MethodPlan& plan : program.methods()) {
    ABSL_ASSIGN_OR_RETURN(const Method method,
                          Method::Load(program, plan.name, kernels, RuntimeBackends()));
    Collect(method, arguments, name, needs);
  }
  return absl::OkStatus();
}

std::string ListOf(const Needs& needs, const Arguments& arguments) {
  std::string list;
  for (const KernelFamily& family : AllFamilies()) {
    for (const Kernel& row : family.rows) {
      const auto found = needs.kernels.find({std::string(row.op), std::string(row.name)});
      if (found == needs.kernels.end()) continue;
      absl::StrAppend(&list, "kernel ", row.op, " ", row.name, " ", family.function, " ",
                      family.file, " ", absl::StrJoin(found->second, ","), "\n");
    }
  }
  const std::map<std::string, std::string, std::less<>> namespaces = BackendNamespaces();
  for (const auto& [id, programs] : needs.backends) {
    const auto found = namespaces.find(id);
    absl::StrAppend(&list, "backend ", id, " ",
                    found == namespaces.end()             ? "-"
                    : arguments.over_kernels.contains(id) ? found->second + "::RuntimesOver"
                                                          : found->second + "::Runtimes",
                    " ", absl::StrJoin(programs, ","), "\n");
  }
  return list;
}

absl::Status ReadNothing(const KernelContext&, std::string_view, void*) { return absl::OkStatus(); }

absl::Status Main(const char* path) {
  ABSL_ASSIGN_OR_RETURN(const Arguments arguments, ReadArguments(path));
  // The application's own kernels accept every call.
  std::vector<Kernel> own;
  for (const std::string& op : arguments.own_operators) {
    own.push_back({.op = op, .name = "own", .engine = KernelEngine::kReference});
    own.back().read_call = &ReadNothing;
  }
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  ABSL_RETURN_IF_ERROR(kernels.Add(own));
  Needs needs;
  std::vector<std::string> problems;
  for (const std::string& program : arguments.programs) {
    const absl::Status status = CollectProgram(program, arguments, kernels, needs);
    if (!status.ok()) problems.push_back(absl::StrCat(program, ": ", FromAbsl(status.message())));
  }
  if (!problems.empty()) return absl::NotFoundError(absl::StrJoin(problems, "\n"));
  std::ofstream file(arguments.output);
  file << ListOf(needs, arguments);
  file.close();
  return file ? absl::OkStatus()
              : absl::DataLossError(absl::StrCat("cannot write ", arguments.output));
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status status = belay::Main(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(belay::FromAbsl(status.message())).c_str());
  return 1;
}
