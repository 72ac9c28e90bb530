#include "exir/serialize/saved_programs.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/serialize/saved_programs.pb.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/sha256.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/utf8.h"

namespace belay::exir {
namespace {

constexpr std::string_view kMagic = "BIRBELAY";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 64;
constexpr uint64_t kDataAlignment = 4096;
constexpr uint64_t kStorageAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t message_bytes;
  char sha256[kSha256Bytes];
  uint64_t more_zeros;
};
static_assert(sizeof(Header) == kHeaderBytes);

// What is missing to the next multiple. No overflow: `offset` lies in a file.
uint64_t Padding(uint64_t offset, uint64_t alignment) {
  return (alignment - offset % alignment) % alignment;
}

std::string_view TextOf(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status Invalid(std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("saved programs: ", problem));
}
absl::Status Damaged(std::string_view problem) {
  return absl::DataLossError(absl::StrCat("saved programs: ", problem));
}

bool AreZeros(absl::Span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    if (byte != std::byte{0}) return false;
  }
  return true;
}

// Where the storages lie, checked against the file and their digests.
absl::StatusOr<std::vector<Storage>> StoragesOf(const schema::SavedPrograms& message,
                                                const std::shared_ptr<const void>& owner,
                                                absl::Span<const std::byte> data) {
  std::vector<Storage> storages;
  uint64_t end = 0;
  for (int i = 0; i < message.storages_size(); ++i) {
    const schema::SavedPrograms::Storage& storage = message.storages(i);
    const std::string name = absl::StrCat("storage#", i);
    if (storage.size() == 0) return Invalid(absl::StrCat(name, ": expected bytes, got none"));
    const uint64_t expected = end + Padding(end, kStorageAlignment);
    if (storage.offset() != expected) {
      return Invalid(
          absl::StrCat(name, ": expected the offset ", expected, ", got ", storage.offset()));
    }
    if (storage.offset() > data.size() || storage.size() > data.size() - storage.offset()) {
      return Damaged(absl::StrCat(name, " has ", storage.size(), " bytes from ", storage.offset(),
                                  " on, there are ", data.size()));
    }
    if (!AreZeros(data.subspan(end, expected - end))) {
      return Invalid(absl::StrCat("expected zeros before ", name));
    }
    const auto bytes = data.subspan(storage.offset(), storage.size());
    if (Sha256(bytes) != storage.sha256()) {
      return Damaged(absl::StrCat(name, " has another SHA-256 than the file says"));
    }
    storages.push_back({owner, bytes});
    end = storage.offset() + storage.size();
  }
  if (end != data.size()) {
    return Invalid(absl::StrCat("expected ", end, " bytes of storages, got ", data.size()));
  }
  return storages;
}

// What the file holds, its storages checked.
struct Contents {
  schema::SavedPrograms message;
  std::vector<Storage> storages;
};

absl::StatusOr<Contents> ReadContents(std::shared_ptr<const void> owner,
                                      absl::Span<const std::byte> bytes,
                                      const ReadSavedProgramsOptions& options) {
  if (!IsSavedPrograms(bytes)) return Invalid("the file does not begin with BIRBELAY");
  if (bytes.size() < kHeaderBytes) {
    return Damaged(absl::StrCat("expected ", kHeaderBytes, " bytes of header, got ", bytes.size()));
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kVersion) {
    return absl::UnimplementedError(
        absl::StrCat("saved programs: expected version ", kVersion, ", got ", header.version));
  }
  if (header.zero != 0 || header.more_zeros != 0) return Invalid("expected zeros in the header");
  if (header.message_bytes > bytes.size() - kHeaderBytes) {
    return Damaged(absl::StrCat("expected ", header.message_bytes, " bytes behind the header, got ",
                                bytes.size() - kHeaderBytes));
  }
  if (header.message_bytes > options.max_text_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("saved programs: ", header.message_bytes,
                                                     " bytes of text, max_text_bytes is ",
                                                     options.max_text_bytes));
  }
  const auto text = bytes.subspan(kHeaderBytes, header.message_bytes);
  if (Sha256(text) != std::string_view(header.sha256, kSha256Bytes)) {
    return Damaged("the text has another SHA-256 than the header says");
  }
  Contents contents;
  schema::SavedPrograms& message = contents.message;
  if (text.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return Invalid("the message does not parse");
  }
  const uint64_t message_end = kHeaderBytes + header.message_bytes;
  const uint64_t padding = message.storages_size() == 0 ? 0 : Padding(message_end, kDataAlignment);
  if (padding > bytes.size() - message_end) return Damaged("truncated before the storages");
  if (!AreZeros(bytes.subspan(message_end, padding))) {
    return Invalid("expected zeros behind the message");
  }
  ABSL_ASSIGN_OR_RETURN(contents.storages,
                        StoragesOf(message, owner, bytes.subspan(message_end + padding)));
  absl::flat_hash_set<std::string_view> names;
  for (const schema::SavedPrograms::Method& method : contents.message.methods()) {
    if (!IsUtf8(method.name()) || method.name().empty()) {
      return Invalid("expected names of methods in UTF-8, got another");
    }
    if (!names.insert(method.name()).second) {
      return Invalid(absl::StrCat("there are two methods '", method.name(), "'"));
    }
  }
  if (names.empty()) return Invalid("expected methods, got none");
  return contents;
}

}  // namespace

std::string SavedProgramsImage::ToString() const {
  std::string file;
  for (std::string_view piece : pieces) file += piece;
  return file;
}

SavedProgramsImage SavePrograms(const MethodPrograms& methods) {
  SavedProgramsImage image;
  schema::SavedPrograms message;
  for (const auto& [name, program] : methods) {
    schema::SavedPrograms::Method& method = *message.add_methods();
    method.set_name(name);
    method.set_text(PrintProgram(program, &image.storages));
  }
  const auto own = [&](std::string text) {
    image.owned.push_back(std::make_unique<std::string>(std::move(text)));
    image.pieces.push_back(*image.owned.back());
  };
  uint64_t end = 0;
  std::vector<std::string_view> data;
  for (const Storage& storage : image.storages) {
    end += Padding(end, kStorageAlignment);
    schema::SavedPrograms::Storage& entry = *message.add_storages();
    entry.set_offset(end);
    entry.set_size(storage.bytes.size());
    entry.set_sha256(Sha256(storage.bytes));
    end += storage.bytes.size();
  }
  std::string text = message.SerializeAsString();
  Header header = {};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  header.version = kVersion;
  header.message_bytes = text.size();
  std::memcpy(header.sha256, Sha256(text).data(), kSha256Bytes);
  own(std::string(reinterpret_cast<const char*>(&header), sizeof(header)));
  if (!image.storages.empty()) text.append(Padding(kHeaderBytes + text.size(), kDataAlignment), 0);
  own(std::move(text));
  own(std::string(kStorageAlignment, 0));
  const std::string_view zeros = image.pieces.back();
  image.pieces.pop_back();
  end = 0;
  for (const Storage& storage : image.storages) {
    image.pieces.push_back(zeros.substr(0, Padding(end, kStorageAlignment)));
    image.pieces.push_back(TextOf(storage.bytes));
    end += Padding(end, kStorageAlignment) + storage.bytes.size();
  }
  return image;
}

absl::Status WriteSavedPrograms(const MethodPrograms& methods, const std::string& path) {
  return WriteFileAtomically(path, SavePrograms(methods).pieces);
}

bool IsSavedPrograms(absl::Span<const std::byte> bytes) {
  return TextOf(bytes).substr(0, kMagic.size()) == kMagic;
}

absl::StatusOr<MethodPrograms> ParseSavedPrograms(std::shared_ptr<const void> owner,
                                                  absl::Span<const std::byte> bytes,
                                                  const OpRegistry& ops,
                                                  const ReadSavedProgramsOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const Contents contents, ReadContents(std::move(owner), bytes, options));
  MethodPrograms methods;
  for (const schema::SavedPrograms::Method& method : contents.message.methods()) {
    absl::StatusOr<ExportedProgram> program = ParseProgram(method.text(), ops, contents.storages);
    absl::Status status = program.status();
    if (status.ok()) status = Verify(*program);
    if (!status.ok()) return Annotate(status, absl::StrCat("method '", method.name(), "'"));
    methods.emplace_back(method.name(), *std::move(program));
  }
  return methods;
}

absl::StatusOr<SavedProgramsInfo> InspectSavedPrograms(const std::string& path,
                                                       const ReadSavedProgramsOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  const absl::StatusOr<Contents> contents = ReadContents(std::move(file), bytes, options);
  if (!contents.ok()) return Annotate(contents.status(), path);
  SavedProgramsInfo info;
  info.file_bytes = bytes.size();
  for (const schema::SavedPrograms::Method& method : contents->message.methods()) {
    info.methods.emplace_back(method.name(), method.text().size());
  }
  for (const Storage& storage : contents->storages) info.storages.push_back(storage.bytes.size());
  return info;
}

absl::StatusOr<MethodPrograms> ReadSavedPrograms(const std::string& path, const OpRegistry& ops,
                                                 const ReadSavedProgramsOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<MethodPrograms> methods = ParseSavedPrograms(std::move(file), bytes, ops, options);
  if (!methods.ok()) return Annotate(methods.status(), path);
  return methods;
}

}  // namespace belay::exir
