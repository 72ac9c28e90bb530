#include "exir/import/payloads.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "exir/import/json.h"
#include "exir/import/tensor_payload.h"
#include "exir/import/torch_save.h"
#include "exir/import/value_types.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr size_t kMaxConfigDepth = 32;

// A tensor_meta without symbolic numbers.
struct StaticLayout {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes, strides;
  int64_t storage_offset = 0;
  TensorLayout View() const { return {dtype, sizes, strides, storage_offset}; }
};

absl::StatusOr<StaticLayout> ReadLayout(JsonRef ref, ValueTypeReader& types) {
  ABSL_ASSIGN_OR_RETURN(const TensorMetaReading reading, types.ReadTensorMeta(ref));
  if (!reading.problem.empty()) return absl::UnimplementedError(reading.problem);
  StaticLayout layout;
  layout.dtype = reading.meta.dtype;
  for (auto [from, to] : {std::pair(&reading.meta.sizes, &layout.sizes),
                          std::pair(&reading.meta.strides, &layout.strides)}) {
    for (const SymInt& expression : *from) {
      const std::optional<int64_t> number = expression.AsInt();
      if (!number.has_value())
        return ref.Error(absl::StrCat("'", expression.ToString(), "' is not a number"));
      to->push_back(*number);
    }
  }
  const std::optional<int64_t> offset = reading.meta.storage_offset.AsInt();
  if (!offset.has_value()) return ref.Error("the storage offset is not a number");
  layout.storage_offset = *offset;
  return layout;
}

class PayloadReader {
 public:
  PayloadReader(const Container& container, const ImportOptions& options, ByteBudget& inflated,
                ByteBudget& zero_filled, Payloads& payloads)
      : container_(container),
        options_(options),
        inflated_(inflated),
        zero_filled_(zero_filled),
        payloads_(payloads) {}

  // Reads a torch.save file that contains a dictionary.
  absl::Status ReadPickled(std::string_view path, ConstantMap& into) {
    ABSL_ASSIGN_OR_RETURN(Storage file, container_.Read(path, inflated_));
    ABSL_ASSIGN_OR_RETURN(std::vector<SavedTensor> tensors,
                          ReadTorchSave(std::move(file), path, options_, inflated_));
    for (SavedTensor& tensor : tensors) {
      if (tensor.tensor.ok()) {
        into.emplace(std::move(tensor.name), *std::move(tensor.tensor));
      } else {
        payloads_.unusable.emplace(std::move(tensor.name), tensor.tensor.status());
      }
    }
    return absl::OkStatus();
  }

  // Reads {"config": {fqn: PayloadMeta}}, with the records in `folder`.
  absl::Status ReadConfig(std::string_view path, std::string_view folder, ConstantMap& into) {
    ABSL_ASSIGN_OR_RETURN(const Storage text, container_.ReadJson(path, inflated_));
    ABSL_ASSIGN_OR_RETURN(
        const JsonDocument document,
        JsonDocument::Parse(text.bytes, path, {options_.max_json_bytes, kMaxConfigDepth}));
    static constexpr JsonField kFields[] = {{"config"}};
    JsonStruct<1> s;
    ABSL_RETURN_IF_ERROR(s.Read(document.root(), kFields));
    return ForEachField(s[0], [&](std::string_view fqn, JsonRef meta) -> absl::Status {
      absl::StatusOr<Tensors> tensors = ReadEntry(fqn, meta, folder);
      bool is_new = true;
      if (!tensors.ok()) {
        if (tensors.status().code() != absl::StatusCode::kUnimplemented) return tensors.status();
        is_new = payloads_.unusable.emplace(std::string(fqn), tensors.status()).second;
      } else {
        for (auto& [attribute, tensor] : *tensors) {
          std::string name(fqn);
          if (!attribute.empty()) absl::StrAppend(&name, ".", attribute);
          is_new = into.emplace(std::move(name), std::move(tensor)).second && is_new;
        }
      }
      if (!is_new) return meta.Error("two entries have this name");
      return absl::OkStatus();
    });
  }

 private:
  // Tensors of an entry: the entry itself, named "", or the attributes of a subclass.
  using Tensors = std::vector<std::pair<std::string, ConstantTensor>>;

  absl::StatusOr<Tensors> ReadEntry(std::string_view fqn, JsonRef meta, std::string_view folder) {
    static constexpr JsonField kFields[] = {
        {"path_name"}, {"is_param", false}, {"use_pickle", false}, {"tensor_meta", false}};
    JsonStruct<4> s;
    ABSL_RETURN_IF_ERROR(s.Read(meta, kFields));
    ABSL_ASSIGN_OR_RETURN(const std::string_view file, s[0].String());
    if (file.empty() || file.find('/') != std::string_view::npos)
      return s[0].Error("not the name of a file");
    bool pickled = false;
    if (s.has(2)) {
      ABSL_ASSIGN_OR_RETURN(pickled, s[2].Bool());
    }
    if (file.starts_with("custom_obj_") || file.starts_with("opaque_obj_") ||
        (!pickled && !s.has(3))) {
      return absl::UnimplementedError("a custom object, not a tensor");
    }
    const std::string path = absl::StrCat(folder, file);
    if (pickled) return ReadPickledRecord(fqn, path);
    ABSL_ASSIGN_OR_RETURN(const StaticLayout layout, ReadLayout(s[3], types_));
    ABSL_ASSIGN_OR_RETURN(Storage record, ReadRecord(fqn, path));
    absl::StatusOr<ConstantTensor> tensor =
        record.bytes.empty() ? ZeroFilled(fqn, layout)
                             : MakeTensor(fqn, layout.View(), std::move(record), path);
    if (!tensor.ok()) return tensor.status();
    return Tensors{{"", *std::move(tensor)}};
  }

  // Reads the record once, however many tensors it contains.
  absl::StatusOr<Storage> ReadRecord(std::string_view fqn, const std::string& path) {
    if (const auto it = records_.find(path); it != records_.end()) return it->second;
    absl::StatusOr<Storage> record = container_.Read(path, inflated_);
    if (!record.ok()) return Annotate(record.status(), absl::StrCat("tensor '", fqn, "'"));
    records_.emplace(path, *record);
    return record;
  }

  // Returns the tensors in the record, which is parsed once, however many names it has.
  absl::StatusOr<Tensors> ReadPickledRecord(std::string_view fqn, const std::string& path) {
    auto it = pickled_.find(path);
    if (it == pickled_.end()) {
      ABSL_ASSIGN_OR_RETURN(Storage file, ReadRecord(fqn, path));
      it = pickled_.emplace(path, ReadTensors(std::move(file), path)).first;
    }
    if (!it->second.ok()) return Annotate(it->second.status(), absl::StrCat("tensor '", fqn, "'"));
    return it->second;
  }

  absl::StatusOr<Tensors> ReadTensors(Storage file, const std::string& path) {
    ABSL_ASSIGN_OR_RETURN(std::vector<SavedTensor> saved,
                          ReadTorchSave(std::move(file), path, options_, inflated_));
    if (saved.empty() || saved[0].in_dictionary)
      return absl::UnimplementedError(absl::StrCat("'", path, "' is not a plain tensor"));
    Tensors tensors;
    for (SavedTensor& tensor : saved) {
      ABSL_RETURN_IF_ERROR(tensor.tensor.status());
      tensors.emplace_back(std::move(tensor.name), *std::move(tensor.tensor));
    }
    return tensors;
  }

  // Fills with zeros, as torch does for tensors without data (fake and meta tensors).
  absl::StatusOr<ConstantTensor> ZeroFilled(std::string_view fqn, StaticLayout layout) {
    layout.storage_offset = 0;
    ABSL_ASSIGN_OR_RETURN(const uint64_t bytes, BytesNeeded(fqn, layout.View()));
    ABSL_RETURN_IF_ERROR(
        zero_filled_.Take(bytes, absl::StrCat("tensor '", fqn, "', whose record is empty")));
    ABSL_ASSIGN_OR_RETURN(Storage zeros, AllocateZeros(bytes, fqn));
    if (bytes > 0) payloads_.zero_filled.Add(fqn);
    return MakeTensor(fqn, layout.View(), std::move(zeros), "its record");
  }

  const Container& container_;
  const ImportOptions& options_;
  ByteBudget& inflated_;
  ByteBudget& zero_filled_;
  Payloads& payloads_;
  ValueTypeReader types_;
  absl::flat_hash_map<std::string, Storage> records_;
  absl::flat_hash_map<std::string, absl::StatusOr<Tensors>> pickled_;
};

// Returns the first of `paths` that exists in the archive; "" if none does.
std::string FirstPresent(const Container& container, absl::Span<const std::string> paths) {
  for (const std::string& path : paths) {
    if (container.Find(path) != nullptr) return path;
  }
  return "";
}

}  // namespace

absl::StatusOr<Payloads> ReadPayloads(const Container& container, std::string_view model,
                                      const ImportOptions& options, ByteBudget& inflated,
                                      ByteBudget& zero_filled) {
  Payloads payloads;
  PayloadReader reader(container, options, inflated, zero_filled, payloads);
  struct Part {
    ConstantMap* into;
    std::vector<std::string> pickles;
    std::vector<std::string> configs;
    std::string_view folder;
  };
  const bool flat = container.EraOf(model) == ContainerEra::kFlat;
  const auto pickles = [&](std::string_view flat_name,
                           std::string_view folder) -> std::vector<std::string> {
    if (!flat) return {absl::StrCat(folder, model, ".pt")};
    return {absl::StrCat(flat_name, ".pt"),
            absl::StrCat(flat_name, ".json")};  // The first prototypes wrote .json.
  };
  constexpr std::string_view kWeights = "data/weights/", kConstants = "data/constants/";
  const Part parts[] = {
      {&payloads.weights,
       pickles("serialized_state_dict", kWeights),
       {absl::StrCat(kWeights, model, "_weights_config.json"),
        absl::StrCat(kWeights, model, "_model_param_config.json")},
       kWeights},
      {&payloads.constants,
       pickles("serialized_constants", kConstants),
       {absl::StrCat(kConstants, model, "_constants_config.json"),
        absl::StrCat(kConstants, model, "_model_constants_config.json")},
       kConstants},
  };
  for (const Part& part : parts) {
    const std::string config = flat ? "" : FirstPresent(container, part.configs);
    const std::string pickle = FirstPresent(container, part.pickles);
    // A model without either has no tensors; unresolved references are reported separately.
    if (!config.empty()) {
      ABSL_RETURN_IF_ERROR(reader.ReadConfig(config, part.folder, *part.into));
    } else if (!pickle.empty()) {
      ABSL_RETURN_IF_ERROR(reader.ReadPickled(pickle, *part.into));
    }
  }
  return payloads;
}

}  // namespace belay::exir
