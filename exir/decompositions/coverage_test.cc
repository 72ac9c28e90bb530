// Checks that COVERAGE.md lists the composite operators with a decomposition, and the reasons of
// the others.
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "exir/decompositions/standard_decompositions.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

constexpr std::string_view kFile = "exir/decompositions/COVERAGE.md";

// Reason why a known composite operator has no decomposition.
struct Reason {
  std::string_view op, reason;
};
constexpr std::string_view kScalarResult = "constant during tracing; never in an archive";
constexpr std::string_view kBackendOnly = "internal to PyTorch; archives have its caller";
constexpr Reason kReasons[] = {
#include "exir/decompositions/coverage_reasons.inc"
};

std::string_view ReasonOf(std::string_view op) {
  for (const Reason& reason : kReasons) {
    if (reason.op == op) return reason.reason;
  }
  return "";
}

struct Coverage {
  int rows = 0;
  std::map<std::string, std::string> covered;  // operator → its overloads
  std::map<std::string_view, std::string_view> uncovered;
};

Coverage Collect() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  Coverage coverage;
  for (const OpOverload* op : ops.Known()) {
    if (op->dialect() != Dialect::kAten) continue;
    if (StandardDecompositions().Find(op) != nullptr) {
      ++coverage.rows;
      std::string& overloads =
          coverage.covered[std::string(op->ns()) + "." + std::string(op->op())];
      overloads += (overloads.empty() ? "" : ", ") + std::string(op->overload());
    } else if (op->has_trait(kComposite) && !op->has_meta_kernel()) {
      coverage.uncovered[op->name()] = ReasonOf(op->name());
    }
  }
  return coverage;
}

std::string Text(const Coverage& coverage) {
  std::ostringstream text;
  text << "# Composite operators\n\n"
       << "Checked by `coverage_test`, which prints this page if it is out of date.\n\n"
       << "## Without a decomposition (" << coverage.uncovered.size() << ")\n\n"
       << "| operator | reason |\n| --- | --- |\n";
  for (const auto& [op, reason] : coverage.uncovered)
    text << "| " << op << " | " << reason << " |\n";
  text << "\n## With a decomposition (" << coverage.rows << " overloads)\n\n";
  for (const auto& [op, overloads] : coverage.covered) {
    text << "- " << op << ": " << overloads << "\n";
  }
  return text.str();
}

TEST(CoverageTest, EveryCompositeOperatorDecomposesOrHasReason) {
  const Coverage coverage = Collect();
  for (const auto& [op, reason] : coverage.uncovered) {
    EXPECT_FALSE(reason.empty()) << op << " has no decomposition and no reason";
  }
  for (const Reason& reason : kReasons) {
    EXPECT_EQ(coverage.uncovered.count(reason.op), 1u) << reason.op << " needs no reason";
  }
}

TEST(CoverageTest, PageIsUpToDate) {
  std::ifstream file{std::string(kFile)};
  std::stringstream content;
  content << file.rdbuf();
  const std::string expected = Text(Collect());
  EXPECT_TRUE(content.str() == expected) << kFile << " should be:\n" << expected;
}

}  // namespace
}  // namespace belay::exir
