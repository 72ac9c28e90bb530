#include "exir/import/container.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "runtime/core/bytes.h"
#include "runtime/core/first_bytes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::string_view kFlatProgram = "serialized_exported_program.json";
constexpr std::string_view kModels = "models/";
constexpr std::string_view kJson = ".json";
constexpr uint64_t kMaxMarkerBytes = 256;
constexpr int kMaxContainerVersion = 10;

bool StartsWith(absl::Span<const std::byte> bytes, std::string_view prefix) {
  return AsString(bytes).starts_with(prefix);
}

absl::Status NotAZip(absl::Span<const std::byte> bytes) {
  if (bytes.empty()) return absl::DataLossError("the file is empty");
  if (StartsWith(bytes, "\x80\x02") || StartsWith(bytes, "\x80\x04")) {
    return absl::UnimplementedError(
        "the file is a pickle, not a .pt2 archive: save the program with torch.export.save");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("not a .pt2 archive, which is a zip file: ", DescribeFirstBytes(bytes)));
}

}  // namespace

std::string_view ContainerEraName(ContainerEra era) {
  switch (era) {
    case ContainerEra::kFlat:
      return "flat archive (torch < 2.8)";
    case ContainerEra::kPickledWeights:
      return "PT2 archive with pickled weights (torch 2.8)";
    case ContainerEra::kRawWeights:
      return "PT2 archive with raw weights (torch >= 2.9)";
  }
  return "";
}

absl::StatusOr<Container> Container::Open(Storage file, const ImportOptions& options) {
  if (file.bytes.size() > options.max_file_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the file has ", file.bytes.size(),
                     " bytes, more than max_file_bytes = ", options.max_file_bytes));
  }
  if (!StartsWith(file.bytes, "PK")) return NotAZip(file.bytes);
  ABSL_ASSIGN_OR_RETURN(
      ZipReader zip, ZipReader::Open(std::move(file), options.max_zip_entries, options.keep_pages));
  Container container(std::move(zip), options);
  ABSL_RETURN_IF_ERROR(container.Detect());
  return container;
}

absl::StatusOr<std::string> Container::ReadText(std::string_view path) const {
  const ZipReader::Entry* entry = Find(path);
  if (entry == nullptr)
    return absl::NotFoundError(absl::StrCat("the archive has no entry '", path, "'"));
  if (entry->size > kMaxMarkerBytes) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' has ", entry->size,
                                                   " bytes; expected at most ", kMaxMarkerBytes));
  }
  ByteBudget budget("marker bytes", kMaxMarkerBytes);
  ABSL_ASSIGN_OR_RETURN(const Storage content,
                        zip_.Read(*entry, budget, options_.verify_checksums));
  return std::string(absl::StripAsciiWhitespace(ToAbsl(AsString(content.bytes))));
}

absl::Status Container::Detect() {
  if (zip_.entries().empty()) return absl::InvalidArgumentError("the archive is empty");
  const std::string_view first = zip_.entries().front().name;
  const size_t slash = first.find('/');
  root_ = std::string(slash == std::string_view::npos ? std::string_view()
                                                      : first.substr(0, slash + 1));

  if (Find("archive_format") != nullptr) return ReadArchiveMarkers();
  if (zip_.Find(kFlatProgram) != nullptr) {
    root_.clear();
    flat_ = true;
    model_names_ = {"model"};
    if (Find("version") != nullptr) {
      ABSL_ASSIGN_OR_RETURN(flat_version_, ReadText("version"));
    }
    return absl::OkStatus();
  }
  if (Find("constants.pkl") != nullptr) {
    return absl::UnimplementedError(
        "the file is a TorchScript archive (constants.pkl), not an exported program: export the "
        "model with "
        "torch.export.export and save it with torch.export.save");
  }
  if (Find("data.pkl") != nullptr) {
    return absl::UnimplementedError(
        "the file is a torch.save archive (data.pkl), not an exported program: save the program "
        "with "
        "torch.export.save");
  }
  std::vector<std::string> names;
  for (const ZipReader::Entry& entry :
       zip_.entries().first(std::min<size_t>(zip_.entries().size(), 5))) {
    names.emplace_back(entry.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("not a .pt2 archive: the zip file has neither '",
                                                 root_, "archive_format' nor '", kFlatProgram,
                                                 "'; it begins with ", absl::StrJoin(names, ", ")));
}

absl::Status Container::ReadArchiveMarkers() {
  for (const ZipReader::Entry& entry : zip_.entries()) {
    if (!entry.name.starts_with(root_)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the entry '", entry.name, "' is outside the archive's folder '", root_, "'"));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const std::string format, ReadText("archive_format"));
  if (format != "pt2") {
    return absl::UnimplementedError(
        absl::StrCat("archive_format is '", format, "'; expected 'pt2'"));
  }
  ABSL_ASSIGN_OR_RETURN(const std::string version, ReadText("archive_version"));
  if (version != "0") {
    return absl::UnimplementedError(absl::StrCat("archive_version is ", version, "; expected 0"));
  }
  if (Find(".data/version") != nullptr) {
    ABSL_ASSIGN_OR_RETURN(const std::string text, ReadText(".data/version"));
    int number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < 1 || number > kMaxContainerVersion) {
      return absl::UnimplementedError(absl::StrCat("the container version is '", text,
                                                   "'; expected 1 to ", kMaxContainerVersion));
    }
  }
  if (Find("byteorder") != nullptr) {
    ABSL_ASSIGN_OR_RETURN(const std::string order, ReadText("byteorder"));
    if (order != "little") {
      return absl::UnimplementedError(
          absl::StrCat("byteorder is '", order, "'; only little-endian data is supported"));
    }
  }
  bool compiled = false;
  for (const ZipReader::Entry& entry : zip_.entries()) {
    std::string_view path = entry.name.substr(root_.size());
    compiled = compiled || path.starts_with("data/aotinductor/");
    if (!path.starts_with(kModels) || !path.ends_with(kJson) ||
        path.size() <= kModels.size() + kJson.size())
      continue;
    path.remove_prefix(kModels.size());
    path.remove_suffix(kJson.size());
    model_names_.emplace_back(path);
  }
  if (!model_names_.empty()) return absl::OkStatus();
  if (compiled) {
    return absl::UnimplementedError(
        "the archive is an AOTInductor package (compiled code in data/aotinductor), without an "
        "exported program: save "
        "the program with torch.export.save");
  }
  return absl::NotFoundError("the archive has no model: no entry models/<name>.json");
}

const ZipReader::Entry* Container::Find(std::string_view path) const {
  return zip_.Find(absl::StrCat(root_, path));
}

ContainerEra Container::EraOf(std::string_view model) const {
  if (flat_) return ContainerEra::kFlat;
  const bool pickled = Find(absl::StrCat("data/weights/", model, ".pt")) != nullptr;
  return pickled ? ContainerEra::kPickledWeights : ContainerEra::kRawWeights;
}

absl::StatusOr<std::string> Container::ResolveModel(std::string_view wish) const {
  const auto has = [&](std::string_view name) {
    return std::find(model_names_.begin(), model_names_.end(), name) != model_names_.end();
  };
  if (wish.empty() && model_names_.size() == 1) return model_names_.front();
  const std::string_view name = wish.empty() ? "model" : wish;
  if (has(name)) return std::string(name);
  return absl::NotFoundError(absl::StrCat("the archive has no model '", name, "'; it has ",
                                          absl::StrJoin(model_names_, ", ")));
}

absl::StatusOr<Storage> Container::Read(std::string_view path, ByteBudget& inflated) const {
  const ZipReader::Entry* entry = Find(path);
  if (entry == nullptr)
    return absl::NotFoundError(absl::StrCat("the archive has no entry '", path, "'"));
  return zip_.Read(*entry, inflated, options_.verify_checksums);
}

absl::StatusOr<Storage> Container::ReadJson(std::string_view path, ByteBudget& inflated) const {
  const ZipReader::Entry* entry = Find(path);
  if (entry != nullptr && entry->size > options_.max_json_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("'", path, "' has ", entry->size,
                     " bytes, more than max_json_bytes = ", options_.max_json_bytes));
  }
  return Read(path, inflated);
}

absl::StatusOr<Storage> Container::ReadModel(std::string_view model, ByteBudget& inflated,
                                             std::string* path) const {
  *path = flat_ ? std::string(kFlatProgram) : absl::StrCat(kModels, model, kJson);
  return ReadJson(*path, inflated);
}

}  // namespace belay::exir
