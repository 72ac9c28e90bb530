#include "runtime/kernels/reference/random_stream.h"

#include <array>
#include <cstdint>

#include "gtest/gtest.h"

namespace belay {
namespace {

using Block = std::array<uint32_t, 4>;

TEST(PhiloxTest, KnownAnswers) {
  // Known answers of the authors' Random123 library (kat_vectors).
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, UINT64_MAX),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ElementDrawsTest, EachDrawIsHalfOfABlock) {
  ElementDraws draws(7, 3, 5);
  for (uint32_t block = 0; block < 3; ++block) {
    const Block out = Philox4x32({5, block << 16, 3, 0}, 7);
    EXPECT_EQ(draws.Bits(), uint64_t{out[1]} << 32 | out[0]);
    EXPECT_EQ(draws.Bits(), uint64_t{out[3]} << 32 | out[2]);
  }
}

}  // namespace
}  // namespace belay
