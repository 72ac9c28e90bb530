#include "runtime/core/sha256.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace belay {
namespace {

// FIPS 180-2, appendix B; the empty string by definition.
TEST(Sha256Test, KnownDigests) {
  EXPECT_EQ(absl::BytesToHexString(Sha256(std::string_view())),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(absl::BytesToHexString(Sha256(std::string_view("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      absl::BytesToHexString(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(absl::BytesToHexString(Sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, ConcatenatesPieces) {
  const std::string_view pieces[] = {"a", "", "bc"};
  EXPECT_EQ(Sha256(pieces), Sha256(std::string_view("abc")));
}

TEST(Sha256Test, ReportsPiecesThatWereRead) {
  const std::string_view pieces[] = {"a", "", "bc"};
  std::string done;
  EXPECT_EQ(Sha256(pieces, [&](std::string_view piece) { done.append(piece).append("|"); }),
            Sha256(std::string_view("abc")));
  EXPECT_EQ(done, "a||bc|");
}

}  // namespace
}  // namespace belay
