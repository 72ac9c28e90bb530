#include "runtime/program/digest.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/sha256.h"
#include "runtime/program/metadata_path.h"
#include "runtime/schema/file_format.h"

namespace belay {

static_assert(kDigestBytes == kSha256Bytes);

absl::Status VerifyDigests(const Program& program) {
  std::vector<std::string> damaged;
  for (size_t i = 0; i < program.segments().size(); ++i) {
    const SegmentPlan& segment = program.segments()[i];
    if (segment.sha256.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("segment ", i, " has no digest: its file's format has none"));
    }
    const std::string digest = Sha256(segment.bytes);
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
