#include "runtime/program/signature.h"

#include <sodium.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/digest.h"

namespace belay {
namespace {

static_assert(crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_SEEDBYTES == 32 &&
              crypto_sign_BYTES == 64);

constexpr std::string_view kSignatureMagic = "BELAYSIG";

absl::StatusOr<std::array<uint8_t, 32>> ParseKey(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
  std::array<uint8_t, 32> key = {};
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  if (text.size() != 2 * key.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key has ", 2 * key.size(), " hexadecimal digits, not ", text.size()));
  }
  for (size_t i = 0; i < key.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return absl::InvalidArgumentError("a key consists of hexadecimal digits only");
    }
    key[i] = static_cast<uint8_t>(16 * high + low);
  }
  return key;
}

// The public key, and the secret key in libsodium's form, which is wiped on destruction.
struct ExpandedKey {
  explicit ExpandedKey(const Ed25519SecretKey& key) {
    crypto_sign_seed_keypair(public_key.data(), secret.data(), key.seed.data());
  }
  ~ExpandedKey() { sodium_memzero(secret.data(), secret.size()); }
  ExpandedKey(const ExpandedKey&) = delete;
  ExpandedKey& operator=(const ExpandedKey&) = delete;

  std::array<uint8_t, crypto_sign_PUBLICKEYBYTES> public_key;
  std::array<uint8_t, crypto_sign_SECRETKEYBYTES> secret;
};

const uint8_t* Data(absl::Span<const std::byte> bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

}  // namespace

absl::StatusOr<Ed25519PublicKey> ParsePublicKey(std::string_view text) {
  Ed25519PublicKey key;
  ABSL_ASSIGN_OR_RETURN(key.bytes, ParseKey(text));
  return key;
}

absl::StatusOr<Ed25519SecretKey> ParseSecretKey(std::string_view text) {
  Ed25519SecretKey key;
  ABSL_ASSIGN_OR_RETURN(key.seed, ParseKey(text));
  return key;
}

std::string FormatKey(const std::array<uint8_t, 32>& key) {
  std::string text;
  for (const uint8_t byte : key) absl::StrAppend(&text, absl::Hex(byte, absl::kZeroPad2));
  return text;
}

Ed25519SecretKey GenerateSecretKey() {
  // Makes randomness thread-safe. Fails if the system has no source of randomness; then random
  // numbers fail, too.
  std::ignore = sodium_init();
  Ed25519SecretKey key;
  randombytes_buf(key.seed.data(), key.seed.size());
  return key;
}

Ed25519PublicKey PublicKeyOf(const Ed25519SecretKey& key) {
  return {.bytes = ExpandedKey(key).public_key};
}

std::string Sign(absl::Span<const std::byte> file, const Ed25519SecretKey& key) {
  const ExpandedKey expanded(key);
  std::array<uint8_t, crypto_sign_BYTES> signature;
  crypto_sign_detached(signature.data(), nullptr, Data(file), file.size(), expanded.secret.data());
  std::string content(kSignatureMagic);
  content.append(reinterpret_cast<const char*>(expanded.public_key.data()),
                 expanded.public_key.size());
  content.append(reinterpret_cast<const char*>(signature.data()), signature.size());
  return content;
}

absl::Status Ed25519Verifier::VerifyFile(const std::string& path,
                                         absl::Span<const std::byte> file) const {
  std::string_view content = options_.signature;
  std::shared_ptr<const MappedFile> opened;
  if (content.empty()) {
    if (path.empty()) return absl::NotFoundError("no signature of the program was given");
    absl::StatusOr<std::shared_ptr<const MappedFile>> sidecar =
        MappedFile::Open(absl::StrCat(path, ".sig"));
    if (!sidecar.ok()) return Annotate(sidecar.status(), "the signature");
    opened = *std::move(sidecar);
    content = AsString(opened->bytes());
  }
  if (content.size() != kSignatureFileBytes || !content.starts_with(kSignatureMagic)) {
    return absl::DataLossError(absl::StrCat("not a signature file: it has ", content.size(),
                                            " bytes, expected ", kSignatureFileBytes, " with '",
                                            kSignatureMagic, "' at the start"));
  }
  Ed25519PublicKey key;
  std::copy_n(content.data() + kSignatureMagic.size(), key.bytes.size(), key.bytes.begin());
  if (std::find(options_.keys.begin(), options_.keys.end(), key) == options_.keys.end()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the program is signed with the key ", FormatKey(key.bytes),
                     ", which is not among the ", options_.keys.size(), " trusted keys"));
  }
  const auto* signature =
      reinterpret_cast<const uint8_t*>(content.data() + kSignatureMagic.size() + key.bytes.size());
  if (crypto_sign_verify_detached(signature, Data(file), file.size(), key.bytes.data()) != 0) {
    return absl::DataLossError(absl::StrCat("the signature of ", FormatKey(key.bytes),
                                            " is not of these bytes: the program was changed"));
  }
  return absl::OkStatus();
}

absl::Status Ed25519Verifier::VerifyDigest(absl::Span<const std::byte> bytes,
                                           std::string_view sha256) const {
  if (Sha256(bytes) == sha256) return absl::OkStatus();
  return absl::DataLossError("its SHA-256 differs from that in the signed program");
}

}  // namespace belay
