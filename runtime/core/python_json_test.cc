#include "runtime/core/python_json.h"

#include <string>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(PythonJsonTest, QuotesNanAndInfinity) {
  EXPECT_EQ(WithoutPythonNumbers("[NaN, Infinity, -Infinity, -1]"),
            R"(["NaN", "Infinity", "-Infinity", -1])");
}

TEST(PythonJsonTest, ConvertsIntegersBeyond64Bits) {
  EXPECT_EQ(WithoutPythonNumbers("[18446744073709551616, -9223372036854775809]"),
            "[18446744073709551616.0, -9223372036854775809.0]");
  const std::string nines(309, '9');
  EXPECT_EQ(WithoutPythonNumbers("[" + nines + ", -" + nines + "]"),
            R"(["Infinity", "-Infinity"])");
}

TEST(PythonJsonTest, LeavesOtherTextUnchanged) {
  for (const char* text : {
           "", "[18446744073709551615, -9223372036854775808]",
           "[123456789012345678901.5e-3, 1E30, 0.123456789012345678901]",
           R"({"NaN \" 18446744073709551616": "Infinity"})",
           "00000000000000000000000",  // not JSON
           "\"18446744073709551616",   // an unterminated string
       }) {
    EXPECT_EQ(WithoutPythonNumbers(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace belay
