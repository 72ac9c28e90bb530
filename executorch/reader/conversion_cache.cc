#include "executorch/reader/conversion_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/errno_code.h"
#include "runtime/core/file_descriptor.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/release.h"

namespace belay::pte {
namespace {

constexpr std::string_view kMagic = "BELAYKEY";
// Increased when an entry must not be used by later builds of a release.
constexpr int kVersion = 1;
constexpr size_t kConverterAt = 8, kSourcesAt = 40, kProgramAt = 72, kStampAt = 104, kCheckAt = 136;
constexpr size_t kKeyBytes = kCheckAt + kSha256Bytes;
// Seconds: longer than the resolution of any file system's times.
constexpr int64_t kSettled = 2;
constexpr size_t kNameBytes = 100;  // of the program, in the names of the files

std::string Converter() { return Sha256(absl::StrCat("converter ", kVersion, " ", kRelease)); }

struct FileFacts {
  uint64_t size = 0;
  std::string identity;
  int64_t changed = 0;  // in seconds since 1970
};

absl::Status SystemError(const std::string& path, int error) {
  return absl::Status(CodeOfErrno(error), absl::StrCat("cannot read ", path, ": ",
                                                       std::generic_category().message(error)));
}

absl::StatusOr<FileFacts> FactsOf(const std::string& path, int descriptor) {
  struct stat found = {};
  const int result = descriptor < 0 ? ::stat(path.c_str(), &found) : ::fstat(descriptor, &found);
  if (result != 0) return SystemError(path, errno);
  if (!S_ISREG(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  }
  FileFacts facts;
  facts.size = static_cast<uint64_t>(found.st_size);
  const auto text = [](const timespec& time) {
    return absl::StrCat(time.tv_sec, ".", time.tv_nsec);
  };
  facts.identity = absl::StrCat(found.st_dev, " ", found.st_ino, " ", facts.size, " ",
                                text(found.st_mtim), " ", text(found.st_ctim), "\n");
  facts.changed = std::max<int64_t>(found.st_mtim.tv_sec, found.st_ctim.tv_sec);
  return facts;
}

struct OpenedFile {
  FileFacts facts;
  std::shared_ptr<const MappedFile> file;
};

absl::StatusOr<OpenedFile> OpenFile(const std::string& path, const MappedFile::Options& options) {
  const FileDescriptor descriptor(
      OpenRetrying(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) return SystemError(path, errno);
  OpenedFile opened;
  ABSL_ASSIGN_OR_RETURN(opened.facts, FactsOf(path, descriptor.get()));
  ABSL_ASSIGN_OR_RETURN(
      opened.file, MappedFile::FromDescriptor(descriptor.get(), opened.facts.size, path, options));
  return opened;
}

std::string CheckedKey(std::string key) { return key.append(Sha256(key)); }

}  // namespace

absl::StatusOr<ConversionCache> ConversionCache::Create(const std::string& path,
                                                        const OpenOptions& options) {
  if (options.program.verifier != nullptr) {
    return absl::InvalidArgumentError(
        "expected no weight cache for a program whose signature is checked: entries have none");
  }
  struct stat folder = {};
  const int error = ::stat(options.weight_cache.c_str(), &folder) != 0 ? errno : 0;
  if (error == ENOENT || (error == 0 && !S_ISDIR(folder.st_mode))) {
    return absl::NotFoundError(
        absl::StrCat("weight cache: ", options.weight_cache, " is not a folder"));
  }
  if (error != 0) return SystemError(options.weight_cache, error);
  ConversionCache cache;
  cache.options_ = options;
  cache.sources_ = {path};
  cache.sources_.insert(cache.sources_.end(), options.data_files.begin(), options.data_files.end());
  std::string paths;
  for (const std::string& source : cache.sources_) {
    ABSL_ASSIGN_OR_RETURN(const FileFacts facts, FactsOf(source, -1));
    cache.identities_.push_back(facts.identity);
    cache.newest_ = std::max(cache.newest_, facts.changed);
    char* const absolute = ::realpath(source.c_str(), nullptr);
    if (absolute == nullptr) return SystemError(source, errno);
    // The size separates the paths.
    absl::StrAppend(&paths, std::strlen(absolute), " ", absolute);
    std::free(absolute);
  }
  const std::vector<std::string> folders = absl::StrSplit(path, '/');
  const std::string place =
      absl::StrCat(options.weight_cache, "/", folders.back().substr(0, kNameBytes), "-",
                   absl::BytesToHexString(Sha256(paths)).substr(0, 16));
  cache.program_path_ = absl::StrCat(place, ".belay");
  cache.key_path_ = absl::StrCat(place, ".key");
  return cache;
}

std::string ConversionCache::Stamp(absl::Span<const std::string> identities, int64_t newest) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (newest >= now.tv_sec - kSettled) return "";
  std::string all;
  for (const std::string& identity : identities) absl::StrAppend(&all, identity);
  return Sha256(all);
}

absl::StatusOr<std::string> ConversionCache::DigestOfSources() const {
  std::string digests;
  for (size_t i = 0; i < sources_.size(); ++i) {
    ABSL_ASSIGN_OR_RETURN(const OpenedFile source,
                          OpenFile(sources_[i], {.max_bytes = options_.program.limits.file_bytes}));
    if (source.facts.identity != identities_[i]) {
      return absl::FailedPreconditionError(
          absl::StrCat(sources_[i], " changed while it was opened"));
    }
    absl::StrAppend(&digests, Sha256(source.file->bytes()));
  }
  return Sha256(digests);
}

absl::StatusOr<belay::Program> ConversionCache::Open() const {
  ABSL_ASSIGN_OR_RETURN(const OpenedFile key_file,
                        OpenFile(key_path_, {.access = FileAccess::kCopy, .max_bytes = kKeyBytes}));
  const std::string key(AsString(key_file.file->bytes()));
  if (key.size() != kKeyBytes || !key.starts_with(kMagic) ||
      key.substr(kCheckAt) != Sha256(key.substr(0, kCheckAt))) {
    return absl::DataLossError(absl::StrCat(key_path_, " is damaged"));
  }
  const auto digest_at = [&](size_t offset) { return key.substr(offset, kSha256Bytes); };
  if (digest_at(kConverterAt) != Converter()) {
    return absl::FailedPreconditionError(
        absl::StrCat(key_path_, " is of another release; this one is ", kRelease));
  }
  ABSL_ASSIGN_OR_RETURN(
      const OpenedFile program,
      OpenFile(program_path_, {options_.program.access, options_.program.limits.file_bytes}));
  std::vector<std::string> identities = identities_;
  identities.push_back(program.facts.identity);
  const std::string stamp = Stamp(identities, std::max(newest_, program.facts.changed));
  if (stamp.empty() || digest_at(kStampAt) != stamp) {
    ABSL_ASSIGN_OR_RETURN(const std::string sources, DigestOfSources());
    if (digest_at(kSourcesAt) != sources) {
      return absl::FailedPreconditionError(
          absl::StrCat(key_path_, " is of other content of ", sources_[0], " or its data files"));
    }
    if (digest_at(kProgramAt) != Sha256(program.file->bytes())) {
      return absl::DataLossError(
          absl::StrCat(program_path_, " is damaged: its digest differs from that in the key"));
    }
  }
  absl::StatusOr<belay::Program> opened =
      belay::Program::OpenBytes(program.file, program.file->bytes(), options_.program);
  if (!opened.ok()) return Annotate(opened.status(), program_path_);
  if (!stamp.empty() && digest_at(kStampAt) != stamp) {
    // A folder that can't be written only costs time.
    WriteFileAtomically(key_path_, {CheckedKey(absl::StrCat(key.substr(0, kStampAt), stamp))})
        .IgnoreError();
  }
  return opened;
}

absl::Status ConversionCache::Store(absl::Span<const std::string_view> program) const {
  ABSL_ASSIGN_OR_RETURN(const std::string sources, DigestOfSources());
  ABSL_RETURN_IF_ERROR(WriteFileAtomically(program_path_, program));
  return WriteFileAtomically(key_path_,
                             {CheckedKey(absl::StrCat(kMagic, Converter(), sources, Sha256(program),
                                                      std::string(kSha256Bytes, '\0')))});
}

}  // namespace belay::pte
