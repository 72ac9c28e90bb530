#include "runtime/core/sha256.h"
#include "runtime/core/bytes.h"

// These functions can't fail, unlike those of EVP, which may not find their provider.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace belay {

static_assert(kSha256Bytes == SHA256_DIGEST_LENGTH);

std::string Sha256(absl::Span<const std::string_view> pieces,
                   absl::FunctionRef<void(std::string_view)> done) {
  SHA256_CTX state;
  SHA256_Init(&state);
  for (std::string_view piece : pieces) {
    SHA256_Update(&state, piece.data(), piece.size());
    done(piece);
  }
  std::string digest(kSha256Bytes, '\0');
  SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &state);
  return digest;
}

std::string Sha256(std::string_view bytes) { return Sha256(absl::MakeConstSpan(&bytes, 1)); }

std::string Sha256(absl::Span<const std::byte> bytes) { return Sha256(AsString(bytes)); }

}  // namespace belay
