#include "exir/testing/rewrite_test.h"

#include <optional>
#include <string>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

// Returns nullopt and fails the test if the text is not a well-formed program.
std::optional<ExportedProgram> ParseWellFormed(std::string_view text, const OpRegistry& ops) {
  absl::StatusOr<ExportedProgram> program = ParseProgram(text, ops);
  if (!program.ok()) {
    ADD_FAILURE() << program.status() << "\nin\n" << text;
    return std::nullopt;
  }
  const absl::Status verified = Verify(*program);
  if (!verified.ok()) {
    ADD_FAILURE() << verified << "\nin\n" << text;
    return std::nullopt;
  }
  return *std::move(program);
}

// Runs the pass and checks that it returns `change`.
void ExpectResult(std::string_view before, const RunPass& pass, std::string_view after, bool change,
                  const OpRegistry& ops) {
  std::optional<ExportedProgram> program = ParseWellFormed(before, ops);
  std::optional<ExportedProgram> expected = ParseWellFormed(after, ops);
  if (!program.has_value() || !expected.has_value()) return;
  const absl::StatusOr<bool> changed = pass(*program);
  if (!changed.ok()) {
    ADD_FAILURE() << "the pass failed: " << changed.status();
    return;
  }
  EXPECT_EQ(*changed, change) << "the pass's answer whether it changed the program";
  const std::string came = PrintProgram(*program);
  EXPECT_EQ(came, PrintProgram(*expected));
  const absl::Status verified = Verify(*program);
  EXPECT_TRUE(verified.ok()) << verified << "\nin\n" << came;
}

}  // namespace

void ExpectRewrite(std::string_view before, const RunPass& pass, std::string_view after,
                   const OpRegistry& ops) {
  ExpectResult(before, pass, after, true, ops);
}

void ExpectUnchanged(std::string_view before, const RunPass& pass, const OpRegistry& ops) {
  ExpectResult(before, pass, before, false, ops);
}

void ExpectPassError(std::string_view before, const RunPass& pass, absl::StatusCode code,
                     std::string_view message, const OpRegistry& ops) {
  std::optional<ExportedProgram> program = ParseWellFormed(before, ops);
  if (!program.has_value()) return;
  const absl::StatusOr<bool> changed = pass(*program);
  EXPECT_EQ(changed.status().code(), code) << changed.status();
  EXPECT_THAT(std::string(changed.status().message()), ::testing::HasSubstr(std::string(message)));
}

}  // namespace belay::exir
