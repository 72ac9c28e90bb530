#include "exir/testing/round_trip.h"

#include <string>

#include "exir/ir/text.h"
#include "gtest/gtest.h"

namespace belay::exir {

void ExpectRoundTrip(const ExportedProgram& program) {
  const std::string text = PrintProgram(program);
  const absl::StatusOr<ExportedProgram> parsed = ParseProgram(text, *program.ops);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\nin\n" << text;
  EXPECT_EQ(PrintProgram(*parsed), text);
  EXPECT_TRUE(Equal(program, *parsed)) << text;
}

}  // namespace belay::exir
