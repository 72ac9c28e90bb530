#include "exir/serialize/saved_programs.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/mapped_pages.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/serialize/file_layout.h"
#include "exir/serialize/saved_programs.pb.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
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

// The message, checked except for its storage entries, and the bytes of the storages.
struct Contents {
  schema::SavedPrograms message;
  absl::Span<const std::byte> data;
};

absl::Status CheckDigest(const schema::SavedPrograms& message, uint32_t index,
                         absl::Span<const std::byte> bytes) {
  if (Sha256InParts(bytes) == message.storages(static_cast<int>(index)).sha256())
    return absl::OkStatus();
  return Damaged(absl::StrCat("storage#", index, " does not match its SHA-256"));
}

// Locates the storages; checks them against the file size and, with `digests`, their digests.
absl::StatusOr<std::vector<Storage>> StoragesOf(const Contents& contents,
                                                const std::shared_ptr<const void>& owner,
                                                bool digests = true) {
  const schema::SavedPrograms& message = contents.message;
  const absl::Span<const std::byte> data = contents.data;
  std::vector<Storage> storages;
  uint64_t end = 0;
  for (int i = 0; i < message.storages_size(); ++i) {
    const schema::SavedPrograms::Storage& storage = message.storages(i);
    const std::string name = absl::StrCat("storage#", i);
    if (storage.size() == 0) return Invalid(absl::StrCat(name, ": expected bytes, got none"));
    const uint64_t expected = AlignUp(end, kStorageAlignment);  // `end` is inside the file
    if (storage.offset() != expected) {
      return Invalid(
          absl::StrCat(name, ": expected the offset ", expected, ", got ", storage.offset()));
    }
    if (!RangeFits(storage.offset(), storage.size(), data.size())) {
      return Damaged(absl::StrCat(name, " has ", storage.size(), " bytes from ", storage.offset(),
                                  " on, there are ", data.size()));
    }
    if (!AreZeros(data.subspan(end, expected - end))) {
      return Invalid(absl::StrCat("expected zeros before ", name));
    }
    const auto bytes = data.subspan(storage.offset(), storage.size());
    if (digests) ABSL_RETURN_IF_ERROR(CheckDigest(message, static_cast<uint32_t>(i), bytes));
    storages.push_back({owner, bytes});
    end = storage.offset() + storage.size();
  }
  if (end != data.size()) {
    return Invalid(absl::StrCat("expected ", end, " bytes of storages, got ", data.size()));
  }
  return storages;
}

// Returns whether the name is valid and new; adds it.
bool AddName(std::string_view name, absl::flat_hash_set<std::string_view>& names) {
  return !name.empty() && IsUtf8(name) && names.insert(name).second;
}

absl::StatusOr<Contents> ReadMessage(absl::Span<const std::byte> bytes,
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
    return Damaged(absl::StrCat("expected ", header.message_bytes, " bytes after the header, got ",
                                bytes.size() - kHeaderBytes));
  }
  if (header.message_bytes > options.max_text_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("saved programs: ", header.message_bytes,
                                                     " bytes of text, max_text_bytes is ",
                                                     options.max_text_bytes));
  }
  const auto text = bytes.subspan(kHeaderBytes, header.message_bytes);
  if (Sha256(text) != std::string_view(header.sha256, kSha256Bytes)) {
    return Damaged("the message does not match the SHA-256 in the header");
  }
  Contents contents;
  schema::SavedPrograms& message = contents.message;
  if (text.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return Invalid("the message does not parse");
  }
  const uint64_t message_end = kHeaderBytes + header.message_bytes;
  const uint64_t data_begin =
      message.storages_size() == 0 ? message_end : AlignUp(message_end, kDataAlignment);
  if (data_begin > bytes.size()) return Damaged("truncated before the storages");
  if (!AreZeros(bytes.subspan(message_end, data_begin - message_end))) {
    return Invalid("expected zeros after the message");
  }
  contents.data = bytes.subspan(data_begin);
  absl::flat_hash_set<std::string_view> names;
  for (const schema::SavedPrograms::Method& method : message.methods()) {
    if (!IsUtf8(method.name()) || method.name().empty()) {
      return Invalid("expected method names in UTF-8");
    }
    if (!names.insert(method.name()).second) {
      return Invalid(absl::StrCat("duplicate method '", method.name(), "'"));
    }
  }
  if (names.empty()) return Invalid("expected methods, got none");
  absl::flat_hash_set<std::string_view> keys;
  for (const schema::SavedPrograms::NamedData& data : message.named_data()) {
    if (!AddName(data.key(), keys)) {
      return Invalid("expected distinct keys of named data in UTF-8");
    }
    if (data.storage() >= static_cast<uint64_t>(message.storages_size())) {
      return Invalid(absl::StrCat("named data '", data.key(), "': expected a storage below ",
                                  message.storages_size(), ", got ", data.storage()));
    }
  }
  for (const schema::SavedPrograms::ConstantMethod& method : message.constant_methods()) {
    if (!AddName(method.name(), names)) {
      return Invalid("expected distinct names of constant methods in UTF-8");
    }
  }
  return contents;
}

}  // namespace

std::string SavedProgramsImage::ToString() const {
  std::string file;
  for (std::string_view piece : pieces) file += piece;
  return file;
}

SavedProgramsImage SavePrograms(const MethodPrograms& methods,
                                const SavedLoweringOptions& options) {
  SavedProgramsImage image;
  schema::SavedPrograms message;
  for (const auto& [name, program] : methods) {
    schema::SavedPrograms::Method& method = *message.add_methods();
    method.set_name(name);
    method.set_text(PrintProgram(program, &image.storages));
  }
  for (const auto& [key, data] : options.named_data) {
    schema::SavedPrograms::NamedData& named = *message.add_named_data();
    named.set_key(key);
    named.set_storage(static_cast<uint32_t>(image.storages.size()));
    image.storages.push_back(data);
  }
  for (const auto& [name, value] : options.constant_methods) {
    schema::SavedPrograms::ConstantMethod& method = *message.add_constant_methods();
    method.set_name(name);
    method.set_value(value);
  }
  message.set_write_state_in_place(options.write_state_in_place);
  const auto own = [&](std::string text) {
    image.owned.push_back(std::make_unique<std::string>(std::move(text)));
    image.pieces.push_back(*image.owned.back());
  };
  uint64_t end = 0;
  std::vector<std::string_view> data;
  for (const Storage& storage : image.storages) {
    const uint64_t offset = AlignUp(end, kStorageAlignment);
    AppendZeros(data, offset - end);
    data.push_back(AsString(storage.bytes));
    schema::SavedPrograms::Storage& entry = *message.add_storages();
    entry.set_offset(offset);
    entry.set_size(storage.bytes.size());
    entry.set_sha256(Sha256InParts(storage.bytes));
    end = offset + storage.bytes.size();
  }
  const std::string text = message.SerializeAsString();
  Header header = {};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  header.version = kVersion;
  header.message_bytes = text.size();
  std::memcpy(header.sha256, Sha256(text).data(), kSha256Bytes);
  own(std::string(reinterpret_cast<const char*>(&header), sizeof(header)));
  own(text);
  const uint64_t message_end = kHeaderBytes + text.size();
  if (!data.empty()) {
    AppendZeros(image.pieces, AlignUp(message_end, kDataAlignment) - message_end);
  }
  image.pieces.insert(image.pieces.end(), data.begin(), data.end());
  return image;
}

absl::Status WriteSavedPrograms(const MethodPrograms& methods, const std::string& path,
                                const SavedLoweringOptions& options) {
  return WriteFileInParts(path, SavePrograms(methods, options).pieces);
}

bool IsSavedPrograms(absl::Span<const std::byte> bytes) {
  return AsString(bytes).substr(0, kMagic.size()) == kMagic;
}

absl::StatusOr<MethodPrograms> ParseSavedPrograms(std::shared_ptr<const void> owner,
                                                  absl::Span<const std::byte> bytes,
                                                  const OpRegistry& ops,
                                                  const ReadSavedProgramsOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const Contents contents, ReadMessage(bytes, options));
  ABSL_ASSIGN_OR_RETURN(const std::vector<Storage> storages, StoragesOf(contents, owner));
  MethodPrograms methods;
  for (const schema::SavedPrograms::Method& method : contents.message.methods()) {
    absl::StatusOr<ExportedProgram> program = ParseProgram(method.text(), ops, storages);
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
  const auto inspect = [&]() -> absl::StatusOr<SavedProgramsInfo> {
    ABSL_ASSIGN_OR_RETURN(const Contents contents, ReadMessage(bytes, options));
    ABSL_ASSIGN_OR_RETURN(const std::vector<Storage> storages, StoragesOf(contents, file));
    SavedProgramsInfo info;
    info.file_bytes = bytes.size();
    for (const schema::SavedPrograms::Method& method : contents.message.methods()) {
      info.methods.emplace_back(method.name(), method.text().size());
    }
    for (const Storage& storage : storages) info.storages.push_back(storage.bytes.size());
    return info;
  };
  absl::StatusOr<SavedProgramsInfo> info = inspect();
  if (!info.ok()) return Annotate(info.status(), path);
  return info;
}

absl::StatusOr<std::vector<std::string>> SavedMethodNames(const std::string& path,
                                                          const ReadSavedProgramsOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::StatusOr<Contents> contents = ReadMessage(file->bytes(), options);
  if (!contents.ok()) return Annotate(contents.status(), path);
  std::vector<std::string> names;
  for (const schema::SavedPrograms::Method& method : contents->message.methods()) {
    names.push_back(method.name());
  }
  return names;
}

absl::StatusOr<SavedLoweringOptions> ReadSavedLoweringOptions(
    const std::string& path, const ReadSavedProgramsOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const auto read = [&]() -> absl::StatusOr<SavedLoweringOptions> {
    ABSL_ASSIGN_OR_RETURN(const Contents contents, ReadMessage(file->bytes(), options));
    ABSL_ASSIGN_OR_RETURN(const std::vector<Storage> storages,
                          StoragesOf(contents, file, /*digests=*/false));
    SavedLoweringOptions saved;
    for (const schema::SavedPrograms::NamedData& data : contents.message.named_data()) {
      ABSL_RETURN_IF_ERROR(
          CheckDigest(contents.message, data.storage(), storages[data.storage()].bytes));
      saved.named_data.emplace_back(data.key(), storages[data.storage()]);
    }
    for (const schema::SavedPrograms::ConstantMethod& method :
         contents.message.constant_methods()) {
      saved.constant_methods.emplace_back(method.name(), method.value());
    }
    saved.write_state_in_place = contents.message.write_state_in_place();
    return saved;
  };
  absl::StatusOr<SavedLoweringOptions> saved = read();
  if (!saved.ok()) return Annotate(saved.status(), path);
  return saved;
}

absl::StatusOr<MethodPrograms> ReadSavedPrograms(const std::string& path, const OpRegistry& ops,
                                                 const ReadSavedProgramsOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<MethodPrograms> methods =
      ParseSavedPrograms(OwnerOfMapping(std::move(file)), bytes, ops, options);
  if (!methods.ok()) return Annotate(methods.status(), path);
  ReleasePages(bytes);
  return methods;
}

}  // namespace belay::exir
