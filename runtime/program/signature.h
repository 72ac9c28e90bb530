// Detached signatures of program files, checked before any content of a file is used. Ed25519 (RFC
// 8032) over all bytes of the program file. Digests in the program file cover the companion files.
// A separate target, since it needs a cryptographic library.
//
//   const Ed25519Verifier verifier({.keys = {key}});
//   Program::Open("model.belay", {.verifier = &verifier});  // and model.belay.sig
#ifndef BELAY_RUNTIME_PROGRAM_SIGNATURE_H_
#define BELAY_RUNTIME_PROGRAM_SIGNATURE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/file_verifier.h"

namespace belay {

struct Ed25519PublicKey {
  std::array<uint8_t, 32> bytes = {};
  friend bool operator==(const Ed25519PublicKey&, const Ed25519PublicKey&) = default;
};
struct Ed25519SecretKey {
  std::array<uint8_t, 32> seed = {};
};

// Parses keys of 64 hexadecimal digits, ignoring surrounding whitespace. kInvalidArgument.
absl::StatusOr<Ed25519PublicKey> ParsePublicKey(std::string_view text);
absl::StatusOr<Ed25519SecretKey> ParseSecretKey(std::string_view text);
std::string FormatKey(const std::array<uint8_t, 32>& key);

// Creates a key from the system's randomness.
Ed25519SecretKey GenerateSecretKey();
Ed25519PublicKey PublicKeyOf(const Ed25519SecretKey& key);

// Layout of a signature file: the 8 bytes "BELAYSIG", the public key, the 64-byte signature.
inline constexpr size_t kSignatureFileBytes = 8 + 32 + 64;
// Returns the content of the signature file of `file`. Deterministic.
std::string Sign(absl::Span<const std::byte> file, const Ed25519SecretKey& key);

// Accepts files signed by any of its keys. Immutable.
class Ed25519Verifier final : public FileVerifier {
 public:
  struct Options {
    std::vector<Ed25519PublicKey> keys;
    // Content of the signature file. "": read it from the program file's path + ".sig"; a program
    // opened from memory then has no signature.
    std::string signature;
  };
  explicit Ed25519Verifier(Options options) : options_(std::move(options)) {}

  //   kNotFound          the signature file is missing
  //   kDataLoss          not a signature file, or not a signature of these bytes
  //   kPermissionDenied  signed with a key that is not among `keys`; names it
  absl::Status VerifyFile(const std::string& path, absl::Span<const std::byte> file) const override;
  // kDataLoss
  absl::Status VerifyDigest(absl::Span<const std::byte> bytes,
                            std::string_view sha256) const override;

 private:
  Options options_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_SIGNATURE_H_
