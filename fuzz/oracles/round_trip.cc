#include "fuzz/oracles/round_trip.h"

#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/ir/text.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

// An opaque expression has no known meaning: it equals only itself.
constexpr std::string_view kOpaque = "Opaque(";

absl::Status Violation(std::string_view what, std::string_view printed, std::string_view came) {
  return absl::InternalError(
      absl::StrCat(what, " is not read back as it was printed:\n", printed, "\nbut as\n", came));
}

}  // namespace

absl::Status CheckRoundTrip(const exir::SymExpr& expression) {
  const std::string text = expression.ToString();
  const absl::StatusOr<exir::SymExpr> again = exir::ParseSymExpr(text);
  if (!again.ok()) return Violation("an expression", text, again.status().ToString());
  const bool opaque = text.find(kOpaque) != std::string::npos;
  if (opaque ? again->ToString() != text : !(*again == expression)) {
    return Violation("an expression", text, again->ToString());
  }
  return absl::OkStatus();
}

absl::Status CheckRoundTrip(const exir::FunctionSchema& schema) {
  const std::string text = schema.ToString();
  const absl::StatusOr<exir::FunctionSchema> again = exir::FunctionSchema::Parse(text);
  if (!again.ok()) return Violation("a schema", text, again.status().ToString());
  if (again->ToString() != text || again->arguments.size() != schema.arguments.size() ||
      again->returns.size() != schema.returns.size()) {
    return Violation("a schema", text, again->ToString());
  }
  return absl::OkStatus();
}

absl::Status CheckRoundTrip(const exir::ExportedProgram& program, const exir::OpRegistry& ops) {
  const std::string text = exir::PrintProgram(program);
  const absl::StatusOr<exir::ExportedProgram> again = exir::ParseProgram(text, ops);
  if (!again.ok()) return Violation("a program", text, again.status().ToString());
  const bool opaque = text.find(kOpaque) != std::string::npos;
  if (opaque ? exir::PrintProgram(*again) != text : !exir::Equal(program, *again)) {
    return Violation("a program", text, exir::PrintProgram(*again));
  }
  return absl::OkStatus();
}

absl::Status CheckRoundTrip(const NpyArray& array) {
  const absl::StatusOr<std::string> bytes = NpyBytes(array.view());
  if (bytes.status().code() == absl::StatusCode::kUnimplemented) return absl::OkStatus();
  if (!bytes.ok()) return Violation("an array", "", bytes.status().ToString());
  const absl::StatusOr<NpyArray> again = ReadNpy(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()));
  const std::string was = array.view().ToString();
  if (!again.ok()) return Violation("an array", was, again.status().ToString());
  if (again->dtype != array.dtype || !(again->sizes == array.sizes)) {
    return Violation("an array", was, again->view().ToString());
  }
  const size_t size = array.view().nbytes();
  if (size > 0 && std::memcmp(again->data.data(), array.data.data(), size) != 0) {
    return Violation("an array", was, "other elements");
  }
  return absl::OkStatus();
}

}  // namespace belay::fuzz
