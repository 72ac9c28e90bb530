// Fixture of tests that expect errors of lowering.
#ifndef BELAY_EXIR_BACKEND_TESTING_TO_BACKEND_FIXTURE_H_
#define BELAY_EXIR_BACKEND_TESTING_TO_BACKEND_FIXTURE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {

inline constexpr std::string_view kTwoNodes = R"(program edge {
  constants { state "w": f32[2] }
  graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %w)  tag="t0"
    %b: f32[2] = edge.aten.sub.Tensor(%a, %w)
    return (%b user_output)
  }
})";

// Has a backend "recorder".
class ToBackendTest : public ::testing::Test {
 protected:
  ToBackendTest() { EXPECT_TRUE(backends_.Add(&recorder_).ok()); }

  ExportedProgram Parse(std::string_view text) { return ParseOrDie(text, TestOps()); }
  // Returns the error of lowering the program; expects that the program is unchanged.
  absl::Status Error(std::string_view text, const Partitioner& partitioner) {
    const ExportedProgram program = Parse(text);
    const std::string before = PrintProgram(program);
    const absl::Status status = ToBackend(program, partitioner, backends_).status();
    EXPECT_EQ(PrintProgram(program), before);
    return status;
  }

  const FunctionBackend recorder_{"recorder"};
  BackendSet backends_;
};

// Expects this code, and a message that contains all of these parts.
inline void ExpectError(const absl::Status& status, absl::StatusCode code,
                        std::vector<std::string> parts) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string& part : parts) {
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(part));
  }
}

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTING_TO_BACKEND_FIXTURE_H_
