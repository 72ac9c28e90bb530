// Detects the kind of an archive and locates its entries. Source: docs/pt2-format.md §1–§3.
#ifndef BELAY_EXIR_IMPORT_CONTAINER_H_
#define BELAY_EXIR_IMPORT_CONTAINER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/import/byte_budget.h"
#include "exir/import/import_options.h"
#include "exir/import/zip_reader.h"
#include "exir/ir/constant.h"

namespace belay::exir {

enum class ContainerEra : uint8_t {
  kFlat,            // torch before 2.8: files without a common folder, weights by torch.save
  kPickledWeights,  // torch 2.8: a PT2 archive with weights by torch.save
  kRawWeights,      // torch 2.9 and later: a PT2 archive with one raw file per storage
};
// Name for messages, such as "flat archive (torch < 2.8)".
std::string_view ContainerEraName(ContainerEra era);

// An open archive. Repeated lookups are cheap; entries are checked when they are read.
class Container {
 public:
  // Errors of ZipReader::Open, and
  //   kInvalidArgument   not a zip file, or a zip file without any known entry
  //   kUnimplemented     another format of PyTorch (AOTInductor, TorchScript, torch.save), an
  //                      unknown version of the container, or big-endian data
  //   kNotFound          an archive without a model
  static absl::StatusOr<Container> Open(Storage file, const ImportOptions& options);

  // Whether the whole file is kFlat. In other archives, models may differ in whether their weights
  // are pickled.
  bool flat() const { return flat_; }
  ContainerEra EraOf(std::string_view model) const;
  // In the archive's order. A flat archive has one model, named "model".
  const std::vector<std::string>& model_names() const { return model_names_; }
  // Resolves ImportOptions::model_name. kNotFound lists the models of the archive.
  absl::StatusOr<std::string> ResolveModel(std::string_view wish) const;

  // Finds an entry by its path below the root folder; nullptr if missing.
  const ZipReader::Entry* Find(std::string_view path) const;
  // kNotFound, and errors of ZipReader::Read.
  absl::StatusOr<Storage> Read(std::string_view path, ByteBudget& inflated) const;
  // Reads the JSON of a model; `path` receives its path for messages. kResourceExhausted above
  // max_json_bytes.
  absl::StatusOr<Storage> ReadModel(std::string_view model, ByteBudget& inflated,
                                    std::string* path) const;
  // Same as Read, for any JSON document.
  absl::StatusOr<Storage> ReadJson(std::string_view path, ByteBudget& inflated) const;
  // Content of the entry `version` of a flat archive; "" if missing.
  const std::string& flat_version() const { return flat_version_; }

  const ZipReader& zip() const { return zip_; }

 private:
  Container(ZipReader zip, const ImportOptions& options)
      : zip_(std::move(zip)), options_(options) {}
  absl::Status Detect();
  absl::Status ReadArchiveMarkers();
  absl::StatusOr<std::string> ReadText(std::string_view path) const;

  ZipReader zip_;
  ImportOptions options_;
  std::string root_;  // with the slash
  bool flat_ = false;
  std::string flat_version_;
  std::vector<std::string> model_names_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_CONTAINER_H_
