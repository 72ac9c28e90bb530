#include "tools/belay/session.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SessionTest : public TestInDirectory {
 protected:
  // A program whose method "forward" calls an unknown operator and an unknown backend.
  std::string WriteStranger() const {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t x = method.Input("x", DType::kFloat32, {2});
    const uint32_t y = method.Arena(DType::kFloat32, {2});
    method.Call("nowhere.double.default", {x}, {y});
    method.Delegate("strange", program.AddSegment(schema::Segment::DELEGATE, "blob"), {x}, {y});
    method.Output(y);
    return Write("p.belay", program.Serialize());
  }
  static int Occurrences(const std::string& text, const std::string& part) {
    int count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
};

TEST_F(SessionTest, UnlinkedKernelsAndBackendsAreUnsupported) {
  const std::string path = WriteStranger();
  EXPECT_THAT(
      OpenSession(path, "forward", "highway"),
      StatusIs(absl::StatusCode::kUnimplemented,
               AllOf(HasSubstr("nowhere.double.default"), HasSubstr("strange"), HasSubstr(path))));
}

TEST_F(SessionTest, MissingMethodOrFileIsNotFound) {
  EXPECT_THAT(OpenSession(WriteStranger(), "train", "highway"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'forward'")));
  EXPECT_THAT(OpenSession(Path("none.belay"), "forward", "highway"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.belay")));
}

TEST_F(SessionTest, ErrorsNamePathOnce) {
  for (const std::string& path :
       {Path("none.belay"), Write("broken.belay", "belay?"), WriteStranger()}) {
    const auto session = OpenSession(path, "forward", "highway");
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(Occurrences(std::string(session.status().message()), path), 1)
        << session.status().ToString();
  }
}

TEST_F(SessionTest, NamesUnknownEngine) {
  EXPECT_THAT(OpenSession(WriteStranger(), "forward", "foo"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'foo'")));
}

TEST_F(SessionTest, CancelledCommandsAreNegative) {
  EXPECT_EQ(Capture([] { return Report(absl::CancelledError("stopped")); }).status, kNegative);
  EXPECT_EQ(Capture([] { return Report(absl::OkStatus()); }).status, kDone);
  EXPECT_EQ(Capture([] { return Report(absl::UnimplementedError("none")); }).status, kUnsupported);
  const Outcome bad = Capture([] { return Report(absl::DataLossError("broken")); });
  EXPECT_EQ(bad.status, kBadInput);
  EXPECT_EQ(bad.errors, "belay: broken\n");
}

}  // namespace
}  // namespace belay::tools
