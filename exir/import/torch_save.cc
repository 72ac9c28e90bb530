#include "exir/import/torch_save.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/types/span.h"
#include "exir/import/pickle.h"
#include "exir/import/tensor_payload.h"
#include "exir/import/zip_reader.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kRebuildTensorV2 = "torch._utils\n_rebuild_tensor_v2";
constexpr std::string_view kRebuildTensorV3 = "torch._utils\n_rebuild_tensor_v3";
constexpr std::string_view kRebuildParameter = "torch._utils\n_rebuild_parameter";
constexpr std::string_view kRebuildParameterWithState =
    "torch._utils\n_rebuild_parameter_with_state";
constexpr std::string_view kRebuildFromType = "torch._tensor\n_rebuild_from_type_v2";
constexpr std::string_view kRebuildSubclass = "torch._utils\n_rebuild_wrapper_subclass";
constexpr std::string_view kUntypedStorage = "torch.storage\nUntypedStorage";
constexpr std::string_view kSize = "torch\nSize";
constexpr std::string_view kDevice = "torch\ndevice";
constexpr std::string_view kTorch = "torch\n";
constexpr std::string_view kPlainGlobals[] = {kRebuildTensorV2,
                                              kRebuildTensorV3,
                                              kRebuildParameter,
                                              kRebuildParameterWithState,
                                              kRebuildFromType,
                                              kRebuildSubclass,
                                              "torch.serialization\n_get_layout",
                                              kUntypedStorage,
                                              kSize,
                                              kDevice};
// Tensor subclasses that are flattened to their component tensors.
constexpr std::string_view kSubclasses[] = {"torchao.quantization\nInt8Tensor",
                                            "torchao.quantization\nIntxUnpackedToInt8Tensor"};

// Types of their other attributes: quantization settings, which are ignored.
constexpr std::string_view kAttributes[] = {
    "torch\nint1",
    "torch\nint2",
    "torch\nint3",
    "torch\nint4",
    "torch\nint5",
    "torch\nint6",
    "torch\nint7",
    "torch\nuint1",
    "torch\nuint2",
    "torch\nuint3",
    "torch\nuint4",
    "torch\nuint5",
    "torch\nuint6",
    "torch\nuint7",
    "torchao.quantization.granularity\nPerAxis",
    "torchao.quantization.granularity\nPerGroup",
    "torchao.quantization.granularity\nPerRow",
    "torchao.quantization.granularity\nPerTensor",
    "torchao.quantization.quant_primitives\nMappingType",
    "torchao.quantization.quantize_.workflows.int8.int8_tensor\nQuantizeTensorToInt8Kwargs"};

bool IsKnownSubclass(std::string_view global) {
  return absl::c_find(kSubclasses, global) != std::end(kSubclasses);
}

struct StorageClass {
  std::string_view name;
  DType dtype;
};
constexpr StorageClass kStorageClasses[] = {
    {"torch\nDoubleStorage", DType::kFloat64},
    {"torch\nFloatStorage", DType::kFloat32},
    {"torch\nHalfStorage", DType::kFloat16},
    {"torch\nBFloat16Storage", DType::kBFloat16},
    {"torch\nLongStorage", DType::kInt64},
    {"torch\nIntStorage", DType::kInt32},
    {"torch\nShortStorage", DType::kInt16},
    {"torch\nCharStorage", DType::kInt8},
    {"torch\nByteStorage", DType::kUint8},
    {"torch\nBoolStorage", DType::kBool},
    {"torch\nComplexFloatStorage", DType::kComplex64},
    {"torch\nComplexDoubleStorage", DType::kComplex128},
};

std::optional<DType> DTypeOfStorage(std::string_view global) {
  for (const StorageClass& c : kStorageClasses) {
    if (c.name == global) return c.dtype;
  }
  return std::nullopt;
}

// Maps, for example, "torch\nfloat32".
std::optional<DType> DTypeOfGlobal(std::string_view global) {
  if (!global.starts_with(kTorch)) return std::nullopt;
  return DTypeFromName(global.substr(kTorch.size()));
}

// `name` is "module name".
bool IsAllowed(std::string_view name) {
  std::string global(name);
  for (char& c : global) c = c == ' ' ? '\n' : c;
  for (std::string_view plain : kPlainGlobals) {
    if (global == plain) return true;
  }
  if (absl::c_find(kAttributes, global) != std::end(kAttributes)) return true;
  return DTypeOfStorage(global).has_value() || DTypeOfGlobal(global).has_value() ||
         IsKnownSubclass(global);
}

class TensorReader {
 public:
  TensorReader(const Pickle& pickle, const ZipReader& zip, std::string root, std::string_view what,
               bool verify, ByteBudget& inflated)
      : pickle_(pickle),
        zip_(zip),
        root_(std::move(root)),
        what_(what),
        verify_(verify),
        inflated_(inflated) {}

  // Whether the value is a tensor or a parameter. Other entries are left to the callers.
  bool IsTensor(uint32_t index) const { return FindTensorCall(index) != nullptr; }
  bool IsSubclass(uint32_t index) const { return FindSubclassState(index) != nullptr; }

  // Adds the value under its name. For a known subclass, adds the tensors among its attributes as
  // "name.attribute".
  void AddTo(std::vector<SavedTensor>& tensors, uint32_t index, std::string_view name) {
    const PickleValue* state = FindSubclassState(index);
    if (state == nullptr) {
      tensors.push_back({std::string(name), Read(index, name.empty() ? what_ : name)});
      return;
    }
    const std::string prefix = name.empty() ? "" : absl::StrCat(name, ".");
    for (absl::Span<const uint32_t> rest = state->items; rest.size() >= 2; rest.remove_prefix(2)) {
      const PickleValue& key = pickle_[rest[0]];
      if (key.kind != Kind::kString || !IsTensor(rest[1])) continue;
      std::string full = absl::StrCat(prefix, key.text);
      absl::StatusOr<ConstantTensor> tensor = Read(rest[1], full);
      tensors.push_back({std::move(full), std::move(tensor)});
    }
  }

  absl::StatusOr<ConstantTensor> Read(uint32_t index, std::string_view name) {
    const PickleValue* call = FindTensorCall(index);
    if (call == nullptr) {
      return absl::UnimplementedError(absl::StrCat(what_, ": '", name, "' is not a plain tensor"));
    }
    const bool v3 = pickle_[call->items[0]].text == kRebuildTensorV3;
    const std::vector<uint32_t>& arguments = pickle_[call->items[1]].items;
    if (arguments.size() < (v3 ? 7u : 6u)) return Malformed(name, "too few arguments for a tensor");

    StoredBytes stored;
    ABSL_ASSIGN_OR_RETURN(stored, ReadStorage(arguments[0], name));
    TensorLayout layout;
    layout.dtype = stored.dtype.value_or(DType::kUint8);
    if (v3) {
      const PickleValue& dtype = pickle_[arguments[6]];
      const std::optional<DType> found =
          dtype.kind == Kind::kGlobal ? DTypeOfGlobal(dtype.text) : std::nullopt;
      if (!found.has_value()) return Malformed(name, "the dtype is unknown");
      layout.dtype = *found;
    } else if (!stored.dtype.has_value()) {
      return Malformed(name, "an untyped storage without a dtype");
    }
    const PickleValue& offset = pickle_[arguments[1]];
    if (offset.kind != Kind::kInt) return Malformed(name, "the storage offset is not an integer");
    layout.storage_offset = offset.integer;
    std::vector<int64_t> sizes, strides;
    if (!ReadInts(arguments[2], sizes) || !ReadInts(arguments[3], strides)) {
      return Malformed(name, "sizes and strides are not tuples of integers");
    }
    layout.sizes = sizes;
    layout.strides = strides;
    return MakeTensor(name, layout, std::move(stored.storage), stored.where);
  }

 private:
  struct StoredBytes {
    Storage storage;
    std::optional<DType> dtype;  // nullopt: untyped
    std::string where;
  };

  absl::Status Malformed(std::string_view name, std::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat(what_, ": tensor '", name, "': ", why));
  }

  // Returns the call of _rebuild_tensor, inside any parameter wrappers; nullptr if it is absent.
  const PickleValue* FindTensorCall(uint32_t index) const {
    const PickleValue* call = FindCall(index);
    if (call == nullptr) return nullptr;
    const std::string_view callee = pickle_[call->items[0]].text;
    return callee == kRebuildTensorV2 || callee == kRebuildTensorV3 ? call : nullptr;
  }

  // Returns the attributes of a known tensor subclass; nullptr for anything else.
  const PickleValue* FindSubclassState(uint32_t index) const {
    const PickleValue* call = FindCall(index);
    if (call == nullptr || pickle_[call->items[0]].text != kRebuildFromType) return nullptr;
    const std::vector<uint32_t>& arguments = pickle_[call->items[1]].items;
    if (arguments.size() != 4 || pickle_[arguments[0]].text != kRebuildSubclass ||
        !IsKnownSubclass(pickle_[arguments[1]].text)) {
      return nullptr;
    }
    const PickleValue& state = pickle_[arguments[3]];
    return state.kind == Kind::kDict ? &state : nullptr;
  }

  // Returns the call inside any parameter wrappers; nullptr if it is absent.
  const PickleValue* FindCall(uint32_t index) const {
    // A parameter holds a tensor. Nested parameters are never written, but harmless.
    for (int level = 0; level < 4; ++level) {
      const PickleValue& value = pickle_[index];
      if (value.kind != Kind::kCall) return nullptr;
      const std::string_view callee = pickle_[value.items[0]].text;
      if (callee != kRebuildParameter && callee != kRebuildParameterWithState) return &value;
      const std::vector<uint32_t>& arguments = pickle_[value.items[1]].items;
      if (arguments.empty()) return nullptr;
      index = arguments[0];
    }
    return nullptr;
  }

  // Reads a tuple of ints, or a torch.Size of one.
  bool ReadInts(uint32_t index, std::vector<int64_t>& out) const {
    const PickleValue* value = &pickle_[index];
    if (value->kind == Kind::kCall && pickle_[value->items[0]].text == kSize) {
      const std::vector<uint32_t>& arguments = pickle_[value->items[1]].items;
      if (arguments.size() != 1) return false;
      value = &pickle_[arguments[0]];
    }
    // The rank limit of PyTorch.
    if (value->kind != Kind::kTuple || value->items.size() > 64) return false;
    for (uint32_t item : value->items) {
      if (pickle_[item].kind != Kind::kInt) return false;
      out.push_back(pickle_[item].integer);
    }
    return true;
  }

  // Reads ('storage', class, key, location, numel).
  absl::StatusOr<StoredBytes> ReadStorage(uint32_t index, std::string_view name) {
    const PickleValue& persistent = pickle_[index];
    if (persistent.kind != Kind::kPersistent)
      return Malformed(name, "its storage is not a persistent id");
    const PickleValue& id = pickle_[persistent.items[0]];
    if (id.kind != Kind::kTuple || id.items.size() != 5)
      return Malformed(name, "its persistent id is not a storage");
    const PickleValue& type = pickle_[id.items[1]];
    const PickleValue& key = pickle_[id.items[2]];
    const PickleValue& count = pickle_[id.items[4]];
    if (pickle_[id.items[0]].text != "storage" || type.kind != Kind::kGlobal ||
        key.kind != Kind::kString || count.kind != Kind::kInt) {
      return Malformed(name, "its persistent id is not a storage");
    }
    StoredBytes stored;
    stored.dtype = DTypeOfStorage(type.text);
    if (!stored.dtype.has_value() && type.text != kUntypedStorage) {
      return Malformed(name, "the class of its storage is unknown");
    }
    const std::string path = absl::StrCat(root_, "data/", key.text);
    stored.where = absl::StrCat(what_, ":", path);
    const auto cached = storages_.find(path);
    if (cached != storages_.end()) {
      stored.storage = cached->second;
    } else {
      const ZipReader::Entry* entry = zip_.Find(path);
      if (entry == nullptr)
        return absl::NotFoundError(
            absl::StrCat(what_, ": no entry '", path, "' for tensor '", name, "'"));
      ABSL_ASSIGN_OR_RETURN(stored.storage, zip_.Read(*entry, inflated_, verify_));
      storages_.emplace(path, stored.storage);
    }
    const CheckedInt declared =
        CheckedInt(count.integer) *
        CheckedInt(
            static_cast<int64_t>(stored.dtype.has_value() ? DTypeSize(*stored.dtype) : size_t{1}));
    if (!declared.ok() || declared.value() < 0)
      return Malformed(name, "the size of its storage is not possible");
    if (static_cast<uint64_t>(declared.value()) > stored.storage.bytes.size()) {
      return absl::DataLossError(absl::StrCat("weights shorter than declared: the storage of '",
                                              name, "' needs ", declared.value(), " bytes, but ",
                                              stored.where, " has ", stored.storage.bytes.size()));
    }
    return stored;
  }

  const Pickle& pickle_;
  const ZipReader& zip_;
  const std::string root_;
  const std::string_view what_;
  const bool verify_;
  ByteBudget& inflated_;
  absl::flat_hash_map<std::string, Storage> storages_;
};

}  // namespace

absl::StatusOr<std::vector<SavedTensor>> ReadTorchSave(Storage file, std::string_view what,
                                                       const ImportOptions& options,
                                                       ByteBudget& inflated) {
  std::vector<SavedTensor> tensors;
  if (file.bytes.empty()) return tensors;
  absl::StatusOr<ZipReader> zip =
      ZipReader::Open(std::move(file), options.max_zip_entries, options.keep_pages);
  if (!zip.ok()) return Annotate(zip.status(), what);
  if (zip->entries().empty())
    return absl::DataLossError(absl::StrCat(what, ": the archive is empty"));
  const std::string_view first = zip->entries().front().name;
  const size_t slash = first.find('/');
  const std::string root(slash == std::string_view::npos ? std::string_view()
                                                         : first.substr(0, slash + 1));

  const auto read = [&](std::string_view name) -> absl::StatusOr<Storage> {
    const ZipReader::Entry* entry = zip->Find(absl::StrCat(root, name));
    if (entry == nullptr)
      return absl::NotFoundError(absl::StrCat(what, ": no entry '", root, name, "'"));
    if (entry->size > options.max_pickle_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ": '", root, name, "' has ", entry->size,
                       " bytes, more than max_pickle_bytes = ", options.max_pickle_bytes));
    }
    absl::StatusOr<Storage> content = zip->Read(*entry, inflated, options.verify_checksums);
    if (!content.ok()) return Annotate(content.status(), what);
    return content;
  };
  if (zip->Find(absl::StrCat(root, "byteorder")) != nullptr) {
    ABSL_ASSIGN_OR_RETURN(const Storage order, read("byteorder"));
    const std::string text(absl::StripAsciiWhitespace(ToAbsl(AsString(order.bytes).substr(0, 16))));
    if (text != "little") {
      return absl::UnimplementedError(
          absl::StrCat(what, ": byteorder is '", text, "'; only little-endian data is supported"));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const Storage data, read("data.pkl"));
  absl::StatusOr<Pickle> pickle = ParsePickle(data.bytes, IsAllowed, options.max_pickle_values);
  if (!pickle.ok()) return Annotate(pickle.status(), what);

  TensorReader reader(*pickle, *zip, root, what, options.verify_checksums, inflated);
  const PickleValue& top = (*pickle)[pickle->root];
  if (top.kind != Kind::kDict) {
    if (!reader.IsTensor(pickle->root) && !reader.IsSubclass(pickle->root)) {
      return absl::UnimplementedError(
          absl::StrCat(what, ": neither a dictionary nor a plain tensor"));
    }
    reader.AddTo(tensors, pickle->root, "");
    for (const SavedTensor& tensor : tensors) ABSL_RETURN_IF_ERROR(tensor.tensor.status());
    return tensors;
  }
  absl::flat_hash_set<std::string_view> names;
  for (size_t i = 0; i + 1 < top.items.size(); i += 2) {
    const PickleValue& key = (*pickle)[top.items[i]];
    if (key.kind != Kind::kString)
      return absl::InvalidArgumentError(absl::StrCat(what, ": a key is not a string"));
    if (!names.insert(key.text).second) {
      return absl::InvalidArgumentError(absl::StrCat(what, ": duplicate key '", key.text, "'"));
    }
    reader.AddTo(tensors, top.items[i + 1], key.text);
  }
  for (SavedTensor& tensor : tensors) {
    tensor.in_dictionary = true;
    const absl::Status& status = tensor.tensor.status();
    if (!status.ok() && status.code() != absl::StatusCode::kUnimplemented) return status;
  }
  return tensors;
}

}  // namespace belay::exir
