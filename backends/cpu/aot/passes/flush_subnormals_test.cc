#include "backends/cpu/aot/passes/flush_subnormals.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

constexpr float kLeastNormal = std::numeric_limits<float>::min();

// A program with the constant %c, a use of it in the call of `op`, and one in an addition.
std::string Program(std::string_view op) {
  return absl::StrCat(R"(program edge {
    constants { constant "c": f32[2,3] }
    graph(%c: f32[2,3] tensor_constant "c", %x: f32[2,3] user_input) {
      %y: f32[2,3] = edge.aten.)",
                      op, R"((%x, %c)
      %z: f32[2,3] = edge.aten.add.Tensor(%c, %y)
      return (%z user_output) } })");
}

TEST(FlushSubnormals, ReplacesSubnormalElementsByZerosOfTheSameSign) {
  for (const char* op : {"add.Tensor", "sub.Tensor"}) {
    for (const float number : {kLeastNormal / 2, -std::numeric_limits<float>::denorm_min()}) {
      ASSERT_OK_AND_ASSIGN(exir::ExportedProgram program,
                           exir::ParseProgram(Program(op), CpuPassTestOps()));
      Fill(program, {.f32 = number});
      ASSERT_OK_AND_ASSIGN(const bool changed, FlushSubnormals().run(program));
      ASSERT_TRUE(changed);
      ASSERT_EQ(program.constants.size(), 1u);
      ASSERT_OK_AND_ASSIGN(const exir::Storage elements, program.constants.at("c_flushed").Dense());
      float floats[6];
      ASSERT_EQ(elements.bytes.size(), sizeof(floats));
      std::memcpy(floats, elements.bytes.data(), sizeof(floats));
      for (const float element : floats) {
        EXPECT_EQ(element, 0.0f);
        EXPECT_EQ(std::signbit(element), number < 0);
      }
    }
  }
}

TEST(FlushSubnormals, KeepsConstantsWithoutSubnormalElements) {
  for (const float number :
       {kLeastNormal, -kLeastNormal, 0.0f, 0.5f, std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    ExpectLeftAsItIs(Program("add.Tensor"), FlushSubnormals().run, {.f32 = number});
  }
}

// A zero changes their results by more than its distance from the element.
TEST(FlushSubnormals, KeepsConstantsOfOtherOperators) {
  for (const char* op : {"mul.Tensor", "div.Tensor", "maximum.default", "atan2.default"}) {
    ExpectLeftAsItIs(Program(op), FlushSubnormals().run, {.f32 = kLeastNormal / 2});
  }
}

TEST(FlushSubnormals, KeepsConstantsThatAreReturned) {
  ExpectLeftAsItIs(R"(program edge {
    constants { constant "c": f32[2,3] }
    graph(%c: f32[2,3] tensor_constant "c", %x: f32[2,3] user_input) {
      %y: f32[2,3] = edge.aten.add.Tensor(%x, %c)
      return (%y user_output, %c user_output) } })",
                   FlushSubnormals().run, {.f32 = kLeastNormal / 2});
}

}  // namespace
}  // namespace belay::cpu
