#include "backends/cpu/packed_parameter.h"

#include <string>

#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

TEST(PackedParameterTest, NamesAreParsed) {
  const PackedParameter packed = {.layout = TableLayout::kVnni2,
                                  .k = 3,
                                  .n = 17,
                                  .transposed = true,
                                  .parameter = "a/b.weight"};
  const std::string name = NameOf(packed);
  EXPECT_EQ(name, "belay_cpu.packed/vnni2/3/17/t/a/b.weight");
  EXPECT_TRUE(IsPackedParameter(name));
  const auto parsed = ParsePackedParameter(name);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(NameOf(*parsed), name);
  EXPECT_EQ(parsed->parameter, "a/b.weight");
  EXPECT_TRUE(parsed->transposed);
}

TEST(PackedParameterTest, RejectsOtherNames) {
  EXPECT_FALSE(IsPackedParameter("fc.weight"));
  for (const char* name :
       {"", "fc.weight", "belay_cpu.packed/", "belay_cpu.packed/f32/3/17/t/",
        "belay_cpu.packed/f32/3/17/x/w", "belay_cpu.packed/f32/0/17/t/w",
        "belay_cpu.packed/f32/-3/17/t/w", "belay_cpu.packed/f32/03/17/t/w",
        "belay_cpu.packed/f32/9223372036854775808/1/n/w", "belay_cpu.packed/f32/3/t/w",
        "belay_cpu.packed/int8/3/17/t/w", "belay_cpu.packed/f32/ 3/17/n/w"}) {
    EXPECT_FALSE(ParsePackedParameter(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace belay::cpu
