#include "runtime/program/signature.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/types/span.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/program/program.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

class SignatureTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    secret_.seed.fill(7);
  }
  absl::Status Open(const std::string& path, const Ed25519PublicKey& key) {
    const Ed25519Verifier verifier({.keys = {Other(), key}});
    return Program::Open(path, {.verifier = &verifier}).status();
  }
  static Ed25519PublicKey Other() {
    Ed25519SecretKey other;
    other.seed.fill(9);
    return PublicKeyOf(other);
  }
  Ed25519SecretKey secret_;
};

// RFC 8032, 7.1, test 1: the empty message.
TEST_F(SignatureTest, MatchesRfc8032) {
  ASSERT_OK_AND_ASSIGN(
      const Ed25519SecretKey secret,
      ParseSecretKey("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n"));
  EXPECT_EQ(FormatKey(PublicKeyOf(secret).bytes),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const std::string content = Sign({}, secret);
  ASSERT_EQ(content.size(), kSignatureFileBytes);
  std::array<uint8_t, 32> first, second;
  std::copy_n(content.end() - 64, 32, first.begin());
  std::copy_n(content.end() - 32, 32, second.begin());
  EXPECT_EQ(FormatKey(first), "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155");
  EXPECT_EQ(FormatKey(second), "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
}

TEST_F(SignatureTest, OpensFileSignedByTrustedKey) {
  const std::string file = SampleProgram().Serialize();
  const std::string path = Write("p.belay", file);
  Write("p.belay.sig", Sign(Bytes(file), secret_));
  EXPECT_OK(Open(path, PublicKeyOf(secret_)));
}

TEST_F(SignatureTest, RejectsAnUnsignedFile) {
  const std::string path = Write("p.belay", SampleProgram().Serialize());
  EXPECT_THAT(Open(path, PublicKeyOf(secret_)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("p.belay.sig")));
  EXPECT_OK(Program::Open(path));
}

TEST_F(SignatureTest, RejectsAnotherKey) {
  const std::string file = SampleProgram().Serialize();
  const std::string path = Write("p.belay", file);
  Ed25519SecretKey stranger;
  Write("p.belay.sig", Sign(Bytes(file), stranger));
  EXPECT_THAT(Open(path, PublicKeyOf(secret_)),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(FormatKey(PublicKeyOf(stranger).bytes)),
                             HasSubstr("not among the 2 trusted keys"))));
}

TEST_F(SignatureTest, RejectsAnyChangeBeforeParsing) {
  const std::string file = SampleProgram().Serialize();
  const std::string signature = Sign(Bytes(file), secret_);
  for (size_t at = 0; at < file.size(); at += 13) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    const std::string path = Write("p.belay", damaged);
    Write("p.belay.sig", signature);
    // The verifier's error, not the parser's about a wrong magic or checksum.
    ASSERT_THAT(Open(path, PublicKeyOf(secret_)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the program was changed")));
  }
}

TEST_F(SignatureTest, RejectsInvalidSignatureFiles) {
  const std::string file = SampleProgram().Serialize();
  const std::string path = Write("p.belay", file);
  const std::string signature = Sign(Bytes(file), secret_);
  for (const std::string& wrong :
       {std::string("short"), signature + "x", signature.substr(1) + "x"}) {
    Write("p.belay.sig", wrong);
    EXPECT_THAT(Open(path, PublicKeyOf(secret_)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a signature file")));
  }
}

TEST_F(SignatureTest, ChecksTheSizeLimitFirst) {
  const std::string path = Write("p.belay", SampleProgram().Serialize());
  const Ed25519Verifier verifier({.keys = {PublicKeyOf(secret_)}});
  Program::Options options;
  options.verifier = &verifier;
  options.limits.file_bytes = 100;
  EXPECT_THAT(Program::Open(path, options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'file_bytes'")));
  // The file has no signature; without the size limit, that would be the error.
  EXPECT_THAT(OpenFileBytes(SampleProgram().Serialize(), options),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'file_bytes'")));
}

TEST_F(SignatureTest, OpensFromMemoryWithGivenSignature) {
  const std::string file = SampleProgram().Serialize();
  const Ed25519Verifier none({.keys = {PublicKeyOf(secret_)}});
  EXPECT_THAT(OpenFileBytes(file, {.verifier = &none}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no signature")));
  const Ed25519Verifier given(
      {.keys = {PublicKeyOf(secret_)}, .signature = Sign(Bytes(file), secret_)});
  EXPECT_OK(OpenFileBytes(file, {.verifier = &given}));
}

TEST_F(SignatureTest, CoversCompanionFiles) {
  TestProgram program;
  program.AddMethod("forward");
  program.AddSegment(schema::Segment::CONSTANTS, std::string(100, 'w'), "weights");
  const std::string file = program.Serialize();
  const std::string path = Write("p.belay", file);
  Write("p.belay.sig", Sign(Bytes(file), secret_));
  std::string companion = program.SerializeCompanion("weights");
  Write("weights", companion);
  EXPECT_OK(Open(path, PublicKeyOf(secret_)));
  companion.back() = 'x';  // the header, which has the right digest, is unchanged
  Write("weights", companion);
  EXPECT_OK(Program::Open(path));
  EXPECT_THAT(
      Open(path, PublicKeyOf(secret_)),
      StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("'weights'"), HasSubstr("SHA-256"))));
}

TEST_F(SignatureTest, KeysAreHexadecimal) {
  const Ed25519SecretKey generated = GenerateSecretKey();
  ASSERT_OK_AND_ASSIGN(const Ed25519SecretKey parsed, ParseSecretKey(FormatKey(generated.seed)));
  EXPECT_EQ(parsed.seed, generated.seed);
  EXPECT_NE(GenerateSecretKey().seed, generated.seed);
  const std::string digits = "0123456789abcdefABCDEF" + std::string(42, '7');
  ASSERT_OK_AND_ASSIGN(const Ed25519PublicKey key, ParsePublicKey(digits));
  EXPECT_EQ(FormatKey(key.bytes), "0123456789abcdefabcdef" + std::string(42, '7'));
  for (const std::string& wrong :
       {std::string(), std::string("  "), std::string(63, 'a'), std::string(65, 'a')}) {
    EXPECT_THAT(ParsePublicKey(wrong), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("a key has 64 hexadecimal digits")));
  }
  // The ASCII neighbors of the digits, as the first and the second digit of a byte.
  for (const char neighbor : {'/', ':', '@', 'G', '`', 'g'}) {
    for (const size_t at : {20, 21}) {
      std::string wrong = digits;
      wrong[at] = neighbor;
      const auto matcher = StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("a key consists of hexadecimal digits only"));
      EXPECT_THAT(ParsePublicKey(wrong), matcher) << wrong;
      EXPECT_THAT(ParseSecretKey(wrong), matcher) << wrong;
    }
  }
}

}  // namespace
}  // namespace belay
