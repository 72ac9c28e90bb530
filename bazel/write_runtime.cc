// write_runtime ARGUMENTS: writes the sources of a belay_runtime from a list of kernels
// (runtime.bzl has its format). ARGUMENTS is a file of lines KEY=VALUE:
//   name=NAME            of the target, for messages
//   list=PATH            the output of list_kernels
//   header=PATH, include=PATH   output path of the header, and the path by which it is included
//   registry=PATH        output path of the registry source
//   namespace=NAME       of the functions in the header
//   table=SOURCE=PATH    a source of kernels, and the output path of its table; empty if no row is
//                        needed
//   backends=FUNCTION    that can be linked: "cpu::RuntimesOver"
//   more_backends=FUNCTION   the same for out-of-tree backends, whose ids are not known here
// Exit status 1 if the list needs what can't be linked. Depends only on the standard library, so
// that it builds quickly for the host.
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Kernel {
  std::string op, name, function, source, programs;
};
struct Backend {
  std::string id, function, programs;
};
struct Arguments {
  std::map<std::string, std::string> values;
  std::vector<std::pair<std::string, std::string>> tables;  // source, output path
  std::set<std::string> backends, more_backends;
};

Arguments ReadArguments(const char* path) {
  Arguments arguments;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    const std::string key = line.substr(0, equals), value = line.substr(equals + 1);
    if (key == "table") {
      const size_t second = value.find('=');
      arguments.tables.emplace_back(value.substr(0, second), value.substr(second + 1));
    } else if (key == "backends") {
      arguments.backends.insert(value);
    } else if (key == "more_backends") {
      arguments.more_backends.insert(value);
    } else {
      arguments.values[key] = value;
    }
  }
  return arguments;
}

// "belay::cpu::LinearKernels" -> "belay::cpu", "LinearKernels".
std::pair<std::string, std::string> SplitName(const std::string& function) {
  const size_t colons = function.rfind("::");
  return {function.substr(0, colons), function.substr(colons + 2)};
}

// Names tables by runtime, so that a binary may contain several runtimes and all kernels.
std::string OwnName(const std::string& function, const std::string& space) {
  std::string name = space + "_" + SplitName(function).second;
  for (size_t i; (i = name.find("::")) != std::string::npos;) name.replace(i, 2, "_");
  return name;
}

std::string Declaration(const std::string& function, const std::string& space) {
  return "namespace " + SplitName(function).first + " {\nabsl::Span<const Kernel> " +
         OwnName(function, space) + "();\n}\n";
}

// Returns `source` with only the rows of `rows`: other kernels are never compiled.
std::string Table(const std::string& source, const std::vector<const Kernel*>& rows,
                  const std::string& space) {
  if (rows.empty()) return "// Made by belay_runtime: no kernel of " + source + " is needed.\n";
  std::string text = "// Made by belay_runtime: the kernels of " + source + R"( that are needed.
#include <string_view>

#include "runtime/kernel/kernel_arguments.h"

namespace belay {
namespace {

constexpr struct {
  std::string_view op, name;
} kNeededRows[] = {
)";
  for (const Kernel* row : rows) text += "    {\"" + row->op + "\", \"" + row->name + "\"},\n";
  text += R"(};

template <auto kRun, auto kAccepts = nullptr, auto kScratchBytes = nullptr>
constexpr Kernel NeededRow(std::string_view op, std::string_view signature, std::string_view name,
                           KernelEngine engine) {
  for (const auto& row : kNeededRows) {
    if (row.op == op && row.name == name) {
      return KernelRow<kRun, kAccepts, kScratchBytes>(op, signature, name, engine);
    }
  }
  return {};
}

}  // namespace
}  // namespace belay

#define KernelRow NeededRow
)";
  std::set<std::string> renamed;
  for (const Kernel* row : rows) {
    if (!renamed.insert(row->function).second) continue;
    text +=
        "#define " + SplitName(row->function).second + " " + OwnName(row->function, space) + "\n";
  }
  return text + "#include \"" + source + "\"\n";
}

std::string Header(const Arguments& arguments, const std::string& list) {
  const std::string space = arguments.values.at("namespace");
  std::string text = R"(// Made by belay_runtime.
#pragma once
#include "runtime/backend/backend_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace )" + space +
                     R"( {

// What programs need, and nothing else; both live as long as the process, and are immutable:
)";
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) text += "//   " + line + "\n";
  return text + R"(const belay::KernelRegistry& Kernels();
const belay::BackendRegistry& Backends();

}  // namespace )" +
         space + "\n";
}

std::string Registry(const Arguments& arguments, const std::vector<Kernel>& kernels,
                     const std::vector<Backend>& backends) {
  const std::string space = arguments.values.at("namespace");
  std::vector<std::string> tables;
  std::set<std::string> known;
  for (const Kernel& kernel : kernels) {
    if (known.insert(kernel.function).second) tables.push_back(kernel.function);
  }
  std::set<std::string> functions;
  for (const Backend& backend : backends) {
    if (backend.function == "-") {
      functions.insert(arguments.more_backends.begin(), arguments.more_backends.end());
    } else {
      functions.insert(backend.function);
    }
  }
  const auto is_over = [](const std::string& function) {
    return SplitName(function).second == "RuntimesOver";
  };
  std::string text = "// Made by belay_runtime.\n#include \"" + arguments.values.at("include") +
                     "\"\n\n#include \"bazel/selected_registries.h\"\n";
  text += "\n";
  for (const std::string& table : tables) text += Declaration(table, space);
  for (const std::string& function : functions) {
    text += "namespace belay::" + SplitName(function).first +
            " {\nstd::vector<const BackendRuntime*> " + SplitName(function).second + "(" +
            (is_over(function) ? "const KernelRegistry& kernels" : "") + ");\n}\n";
  }
  text += "\nnamespace " + space + R"( {

const belay::KernelRegistry& Kernels() {
  static const belay::KernelRegistry& registry = *new belay::KernelRegistry(belay::RowsThatAreThere({
)";
  for (const std::string& table : tables) {
    text += "      " + SplitName(table).first + "::" + OwnName(table, space) + "(),\n";
  }
  text += R"(  }));
  return registry;
}

const belay::BackendRegistry& Backends() {
  static const belay::BackendRegistry& registry = *new belay::BackendRegistry(belay::NamedBackends({
)";
  for (const Backend& backend : backends) text += "      \"" + backend.id + "\",\n";
  text += "  }, {\n";
  for (const std::string& function : functions) {
    text += "      belay::" + function + "(" + (is_over(function) ? "Kernels()" : "") + "),\n";
  }
  return text + "  }));\n  return registry;\n}\n\n}  // namespace " + space + "\n";
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

int Main(const char* path) {
  const Arguments arguments = ReadArguments(path);
  const std::string name = arguments.values.at("name"), space = arguments.values.at("namespace");
  std::stringstream list;
  list << std::ifstream(arguments.values.at("list")).rdbuf();
  std::vector<Kernel> kernels;
  std::vector<Backend> backends;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "kernel") {
      Kernel& kernel = kernels.emplace_back();
      words >> kernel.op >> kernel.name >> kernel.function >> kernel.source >> kernel.programs;
    } else if (kind == "backend") {
      Backend& backend = backends.emplace_back();
      words >> backend.id >> backend.function >> backend.programs;
    }
    if (kind.empty() || words.fail()) {
      std::fprintf(stderr, "%s: expected a kernel or a backend, got '%s'\n", name.c_str(),
                   line.c_str());
      return 1;
    }
  }
  bool ok = true;
  std::map<std::string, std::vector<const Kernel*>> rows;
  for (const auto& [source, table] : arguments.tables) rows[source];
  for (const Kernel& kernel : kernels) {
    const auto found = rows.find(kernel.source);
    if (found != rows.end()) {
      found->second.push_back(&kernel);
      continue;
    }
    std::fprintf(stderr,
                 "%s: the operator '%s' of %s needs %s, which is in none of its `families`\n",
                 name.c_str(), kernel.op.c_str(), kernel.programs.c_str(), kernel.source.c_str());
    ok = false;
  }
  for (const Backend& backend : backends) {
    if (backend.function == "-" ? !arguments.more_backends.empty()
                                : arguments.backends.contains(backend.function)) {
      continue;
    }
    std::fprintf(stderr, "%s: the backend '%s' that %s needs is none of its `backends`\n",
                 name.c_str(), backend.id.c_str(), backend.programs.c_str());
    ok = false;
  }
  if (!ok) return 1;
  for (const auto& [source, table] : arguments.tables) {
    ok = Write(table, Table(source, rows[source], space)) && ok;
  }
  ok = Write(arguments.values.at("header"), Header(arguments, list.str())) && ok;
  ok = Write(arguments.values.at("registry"), Registry(arguments, kernels, backends)) && ok;
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return argc == 2 ? Main(argv[1]) : 2; }
