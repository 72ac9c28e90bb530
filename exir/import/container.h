// Which kind of archive a file is, and where things are in it. Source: docs/pt2-format.md §1–§3.
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
// "flat archive (torch < 2.8)", ….
std::string_view ContainerEraName(ContainerEra era);

// An opened archive. Cheap to read from repeatedly; entries are checked when they are read.
class Container {
 public:
  // Whatever ZipReader::Open returns, and
  //   kInvalidArgument   not a zip file, or one with nothing that is known
  //   kUnimplemented     something else that PyTorch writes (AOTInductor, TorchScript, torch.save),
  //                      a version of the container that is not known, big-endian data
  //   kNotFound          an archive without a model
  static absl::StatusOr<Container> Open(Storage file, const ImportOptions& options);

  // Of the whole file; kFlat or not. Whether weights are pickled may differ between the models of
  // an archive.
  bool flat() const { return flat_; }
  ContainerEra EraOf(std::string_view model) const;
  // In the archive's order. A flat archive has one, called "model".
  const std::vector<std::string>& model_names() const { return model_names_; }
  // The model that `wish` means (ImportOptions::model_name). kNotFound listing those there are.
  absl::StatusOr<std::string> ResolveModel(std::string_view wish) const;

  // An entry by its path below the root folder; nullptr when there is none.
  const ZipReader::Entry* Find(std::string_view path) const;
  // kNotFound, or whatever ZipReader::Read returns.
  absl::StatusOr<Storage> Read(std::string_view path, ByteBudget& inflated) const;
  // The JSON of a model, and its path for messages. kResourceExhausted above max_json_bytes.
  absl::StatusOr<Storage> ReadModel(std::string_view model, ByteBudget& inflated,
                                    std::string* path) const;
  // As Read, for any JSON document.
  absl::StatusOr<Storage> ReadJson(std::string_view path, ByteBudget& inflated) const;
  // The text of the entry `version` of a flat archive; "" when there is none.
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
