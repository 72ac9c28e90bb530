#include "runtime/program/digest.h"

#include <sodium.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/program/metadata_path.h"
#include "runtime/schema/file_format.h"

namespace belay {

static_assert(kDigestBytes == crypto_hash_sha256_BYTES);

std::string Sha256Digest(absl::Span<const std::byte> bytes) {
  std::string digest(kDigestBytes, '\0');
  crypto_hash_sha256(reinterpret_cast<unsigned char*>(digest.data()),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return digest;
}

absl::Status VerifyDigests(const Program& program) {
  std::vector<std::string> damaged;
  for (size_t i = 0; i < program.segments().size(); ++i) {
    const SegmentPlan& segment = program.segments()[i];
    const std::string digest = Sha256Digest(segment.bytes);
    if (digest == segment.sha256) continue;
    damaged.push_back(absl::StrCat(
        "segment ", i, " (", segment.bytes.size(), " bytes at ", segment.offset,
        segment.companion.empty() ? "" : absl::StrCat(" of ", Quoted(segment.companion)),
        "): SHA-256 ", absl::BytesToHexString(digest), ", expected ",
        absl::BytesToHexString(segment.sha256)));
  }
  if (damaged.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(damaged.size(), " of ", program.segments().size(),
                                          " segments are damaged: ", ListFirst(damaged, "; ")));
}

}  // namespace belay
