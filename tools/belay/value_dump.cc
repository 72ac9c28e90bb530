#include "tools/belay/value_dump.h"

#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "runtime/core/annotate.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"
#include "tools/belay/value_files.h"

namespace belay::tools {
namespace {

using exir::ExportedProgram;
using exir::NodeId;

// Value names come from the archive and are untrusted.
bool IsFileName(std::string_view name) {
  return !name.empty() && name[0] != '.' && absl::c_all_of(name, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  });
}

using ValueObserver =
    std::function<absl::Status(NodeId node, const std::string& name, const EValue& value)>;

// Interprets one call; `observer` receives every value of the top graph that has a file.
absl::Status Observe(const ExportedProgram& program, const KernelRegistry& kernels,
                     absl::Span<const EValue> inputs, const ValueObserver& observer) {
  exir::InterpreterOptions options;
  options.observer = [&](const exir::NodeEvent& event) {
    if (!event.callers.empty()) return absl::OkStatus();  // in a subgraph
    const exir::Graph& graph = event.program.top();
    const std::vector<exir::ValueId> results = graph.node(event.node).results();
    for (size_t k = 0; k < results.size(); ++k) {
      const EValue& value = event.results[k]->value();
      if (!value.is_tensor() && !value.is_number()) continue;
      ABSL_RETURN_IF_ERROR(observer(event.node, graph.value(results[k]).name, value));
    }
    return absl::OkStatus();
  };
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                        exir::Interpreter::Create(program, kernels, std::move(options)));
  return exir::RunCall(interpreter, inputs).status;
}

std::string PathOf(const std::string& directory, std::string_view name) {
  return absl::StrCat(directory, "/", name, ".npy");
}

}  // namespace

absl::StatusOr<int> DumpValues(const ExportedProgram& program, const KernelRegistry& kernels,
                               absl::Span<const EValue> inputs, const std::string& directory) {
  ABSL_RETURN_IF_ERROR(MakeDirectory(directory));
  int files = 0;
  ABSL_RETURN_IF_ERROR(
      Observe(program, kernels, inputs, [&](NodeId, const std::string& name, const EValue& value) {
        if (!IsFileName(name)) {
          return absl::InvalidArgumentError(
              absl::StrCat("expected a value name that is a valid file name, got ", Quoted(name)));
        }
        ++files;
        return WriteNpyValue(value, PathOf(directory, name));
      }));
  return files;
}

absl::StatusOr<DumpComparison> CompareWithDump(const ExportedProgram& program,
                                               const KernelRegistry& kernels,
                                               absl::Span<const EValue> inputs,
                                               const std::string& directory,
                                               const exir::Closeness& closeness) {
  DumpComparison comparison;
  ABSL_RETURN_IF_ERROR(Observe(
      program, kernels, inputs, [&](NodeId node, const std::string& name, const EValue& value) {
        const std::string path = PathOf(directory, name);
        std::error_code error;
        if (!IsFileName(name) || !std::filesystem::exists(path, error)) return absl::OkStatus();
        ABSL_ASSIGN_OR_RETURN(const NpyArray array, ReadNpyFile(path));
        ++comparison.compared;
        const absl::Status close = exir::CompareRecorded(array.view(), value, closeness);
        if (!close.ok() && !comparison.node.has_value()) {
          comparison.node = exir::DescribeNode(program.top(), node);
          comparison.difference = std::string(close.message());
        }
        return absl::OkStatus();
      }));
  if (comparison.compared == 0) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": expected <name>.npy for values of the program, found none"));
  }
  return comparison;
}

}  // namespace belay::tools
