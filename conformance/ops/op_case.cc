#include "conformance/ops/op_case.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "simdjson.h"

namespace belay::conformance {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

absl::Status Wrong(std::string_view place, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", what));
}

// T is a type of simdjson's DOM: bool, double, int64_t, std::string_view, array, object.
template <class T>
absl::StatusOr<T> As(element value, std::string_view place) {
  T result;
  if (value.get(result) != simdjson::SUCCESS) return Wrong(place, "has another type than expected");
  return result;
}

// Returns the fields of an object. kInvalidArgument: a field is not in `known` or is repeated.
absl::StatusOr<std::map<std::string_view, element>> Fields(element value,
                                                           absl::Span<const std::string_view> known,
                                                           std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const object fields, As<object>(value, place));
  std::map<std::string_view, element> result;
  for (const auto field : fields) {
    if (std::find(known.begin(), known.end(), field.key) == known.end()) {
      return Wrong(place, absl::StrCat("unknown field '", field.key, "'"));
    }
    if (!result.emplace(field.key, field.value).second) {
      return Wrong(place, absl::StrCat("field '", field.key, "' is repeated"));
    }
  }
  return result;
}

// Returns a required field of an object.
absl::StatusOr<element> Field(const std::map<std::string_view, element>& fields,
                              std::string_view name, std::string_view place) {
  const auto it = fields.find(name);
  if (it == fields.end()) return Wrong(place, absl::StrCat("field '", name, "' is missing"));
  return it->second;
}

absl::StatusOr<std::string> ReadString(element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, As<std::string_view>(value, place));
  return std::string(text);
}

// A C hexadecimal floating literal, "nan", "inf" or "-inf".
absl::StatusOr<double> ReadHexFloat(element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const std::string text, ReadString(value, place));
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_hex = text.find("0x") != std::string::npos;
  const bool is_word = text == "nan" || text == "inf" || text == "-inf";
  if (text.empty() || *end != '\0' || (!is_hex && !is_word)) {
    return Wrong(place, absl::StrCat("'", text, "' is not a hexadecimal floating literal"));
  }
  return number;
}

absl::StatusOr<DType> ReadDType(element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view name, As<std::string_view>(value, place));
  const std::optional<DType> dtype = DTypeFromName(name);
  if (!dtype.has_value()) return Wrong(place, absl::StrCat("'", name, "' is not a scalar type"));
  return *dtype;
}

absl::StatusOr<MemoryFormat> ReadMemoryFormat(element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view name, As<std::string_view>(value, place));
  constexpr std::pair<std::string_view, MemoryFormat> kFormats[] = {
      {"contiguous", MemoryFormat::kContiguous},
      {"channels_last", MemoryFormat::kChannelsLast},
      {"channels_last_3d", MemoryFormat::kChannelsLast3d},
      {"preserve", MemoryFormat::kPreserve},
  };
  for (const auto& [text, format] : kFormats) {
    if (text == name) return format;
  }
  return Wrong(place, absl::StrCat("'", name, "' is not a memory format"));
}

template <class T, class Read>
absl::StatusOr<std::vector<T>> ReadList(element value, std::string_view place, Read read) {
  ABSL_ASSIGN_OR_RETURN(const array items, As<array>(value, place));
  std::vector<T> list;
  for (element item : items) {
    ABSL_ASSIGN_OR_RETURN(T read_item, read(item, absl::StrCat(place, "[", list.size(), "]")));
    list.push_back(std::move(read_item));
  }
  return list;
}

absl::StatusOr<Sizes> ReadSizes(element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> list,
                        ReadList<int64_t>(value, place, &As<int64_t>));
  const std::optional<Sizes> sizes = Sizes::TryFrom(list);
  if (!sizes.has_value())
    return Wrong(place, absl::StrCat("rank ", list.size(), " is above the limit of ", kMaxRank));
  for (int64_t s : list) {
    if (s < 0) return Wrong(place, "is negative");
  }
  return *sizes;
}

// Elements from the start of the storage to the last one used.
std::optional<int64_t> StorageElements(const CaseTensor& tensor) {
  std::optional<int64_t> last = tensor.storage_offset;
  for (int d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 0) return 0;
    const std::optional<int64_t> span = CheckedMul<int64_t>(tensor.sizes[d] - 1, tensor.strides[d]);
    last = span.has_value() ? CheckedAdd(*last, *span) : std::nullopt;
    if (!last.has_value()) return std::nullopt;
  }
  return CheckedAdd<int64_t>(*last, 1);
}

absl::StatusOr<CaseTensor> ReadTensor(element value, std::string_view place) {
  constexpr std::string_view kFields[] = {"dtype", "shape", "strides", "storage_offset", "data"};
  ABSL_ASSIGN_OR_RETURN(const auto fields, Fields(value, kFields, place));
  CaseTensor tensor;
  ABSL_ASSIGN_OR_RETURN(const element dtype, Field(fields, "dtype", place));
  ABSL_ASSIGN_OR_RETURN(tensor.dtype, ReadDType(dtype, absl::StrCat(place, ".dtype")));
  ABSL_ASSIGN_OR_RETURN(const element shape, Field(fields, "shape", place));
  ABSL_ASSIGN_OR_RETURN(tensor.sizes, ReadSizes(shape, absl::StrCat(place, ".shape")));
  if (!NumElements(tensor.sizes).has_value()) return Wrong(place, "has too many elements");
  if (const auto it = fields.find("strides"); it != fields.end()) {
    ABSL_ASSIGN_OR_RETURN(tensor.strides, ReadSizes(it->second, absl::StrCat(place, ".strides")));
    if (tensor.strides.size() != tensor.sizes.size())
      return Wrong(place, "strides and shape differ in length");
  } else {
    tensor.strides = ContiguousStrides(tensor.sizes);
  }
  if (const auto it = fields.find("storage_offset"); it != fields.end()) {
    ABSL_ASSIGN_OR_RETURN(tensor.storage_offset,
                          As<int64_t>(it->second, absl::StrCat(place, ".storage_offset")));
    if (tensor.storage_offset < 0) return Wrong(place, "storage_offset is negative");
  }
  if (const auto it = fields.find("data"); it != fields.end()) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view text,
                          As<std::string_view>(it->second, absl::StrCat(place, ".data")));
    std::string bytes;
    if (!absl::Base64Unescape(ToAbsl(text), &bytes)) return Wrong(place, "data is not base64");
    const std::optional<int64_t> elements = StorageElements(tensor);
    const std::optional<int64_t> size =
        elements ? CheckedMul<int64_t>(*elements, static_cast<int64_t>(DTypeSize(tensor.dtype)))
                 : std::nullopt;
    if (!size.has_value() || bytes.size() != static_cast<size_t>(*size)) {
      return Wrong(place,
                   absl::StrCat("data has ", bytes.size(), " bytes, expected ", size.value_or(-1)));
    }
    tensor.data = std::move(bytes);
  }
  return tensor;
}

absl::StatusOr<std::optional<CaseTensor>> ReadOptionalTensor(element value,
                                                             std::string_view place) {
  if (value.is_null()) return std::optional<CaseTensor>();
  ABSL_ASSIGN_OR_RETURN(CaseTensor tensor, ReadTensor(value, place));
  return std::optional<CaseTensor>(std::move(tensor));
}

// A field whose only value is `true`.
template <class T>
absl::StatusOr<CaseValue> ReadMarker(element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const bool yes, As<bool>(value, place));
  if (!yes) return Wrong(place, "is false");
  return CaseValue(T{});
}
// A field with one legal word.
template <class T>
absl::StatusOr<CaseValue> ReadWord(element value, std::string_view word, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, As<std::string_view>(value, place));
  if (text != word) return Wrong(place, absl::StrCat("expected '", word, "', got '", text, "'"));
  return CaseValue(T{});
}
template <class T>
absl::StatusOr<CaseValue> Wrap(absl::StatusOr<T> value) {
  if (!value.ok()) return value.status();
  return CaseValue(*std::move(value));
}

absl::StatusOr<CaseValue> ReadValue(element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const object fields, As<object>(value, place));
  if (fields.size() != 1) return Wrong(place, "a value is an object with exactly one key");
  const auto field = *fields.begin();
  const std::string_view key = field.key;
  const element v = field.value;
  const std::string at = absl::StrCat(place, ".", key);
  if (key == "tensor") return Wrap(ReadTensor(v, at));
  if (key == "none") return ReadMarker<None>(v, at);
  if (key == "any") return ReadMarker<CaseAny>(v, at);
  if (key == "int") return Wrap(As<int64_t>(v, at));
  if (key == "float") return Wrap(ReadHexFloat(v, at));
  if (key == "bool") return Wrap(As<bool>(v, at));
  if (key == "string") return Wrap(ReadString(v, at));
  if (key == "ints") return Wrap(ReadList<int64_t>(v, at, &As<int64_t>));
  if (key == "bools") return Wrap(ReadList<bool>(v, at, &As<bool>));
  if (key == "floats") return Wrap(ReadList<double>(v, at, &ReadHexFloat));
  if (key == "tensors" || key == "optional_tensors") {
    auto list = ReadList<std::optional<CaseTensor>>(v, at, &ReadOptionalTensor);
    if (list.ok() && key == "tensors") {
      for (const auto& tensor : *list) {
        if (!tensor.has_value()) return Wrong(at, "null stands in tensors");
      }
    }
    return Wrap(std::move(list));
  }
  if (key == "complex") {
    ABSL_ASSIGN_OR_RETURN(const std::vector<double> parts, ReadList<double>(v, at, &ReadHexFloat));
    if (parts.size() != 2) return Wrong(at, "expected the real and the imaginary part");
    return CaseValue(std::complex<double>(parts[0], parts[1]));
  }
  if (key == "scalar_type") return Wrap(ReadDType(v, at));
  if (key == "memory_format") return Wrap(ReadMemoryFormat(v, at));
  if (key == "layout") return ReadWord<CaseLayout>(v, "strided", at);
  if (key == "device") return ReadWord<CaseDevice>(v, "cpu", at);
  return Wrong(place, absl::StrCat("unknown kind of value '", key, "'"));
}

absl::StatusOr<std::vector<std::pair<std::string, CaseValue>>> ReadNamedValues(
    element value, std::string_view place) {
  ABSL_ASSIGN_OR_RETURN(const object fields, As<object>(value, place));
  std::vector<std::pair<std::string, CaseValue>> values;
  absl::flat_hash_set<std::string> names;
  for (const auto field : fields) {
    const std::string at = absl::StrCat(place, ".", field.key);
    if (!names.emplace(field.key).second) return Wrong(at, "is repeated");
    ABSL_ASSIGN_OR_RETURN(CaseValue v, ReadValue(field.value, at));
    values.emplace_back(field.key, std::move(v));
  }
  return values;
}

absl::Status ReadCheck(const std::map<std::string_view, element>& fields, std::string_view place,
                       OpCase& op_case) {
  ABSL_ASSIGN_OR_RETURN(const element check, Field(fields, "check", place));
  ABSL_ASSIGN_OR_RETURN(const std::string_view name,
                        As<std::string_view>(check, absl::StrCat(place, ".check")));
  constexpr std::pair<std::string_view, CaseCheck> kChecks[] = {
      {"bits", CaseCheck::kBits}, {"values", CaseCheck::kValues}, {"meta", CaseCheck::kMeta}};
  const auto it = std::find_if(std::begin(kChecks), std::end(kChecks),
                               [&](const auto& c) { return c.first == name; });
  if (it == std::end(kChecks)) return Wrong(place, absl::StrCat("unknown check '", name, "'"));
  op_case.check = it->second;
  const bool has_tolerance = fields.count("rtol") != 0 || fields.count("atol") != 0;
  if (op_case.check != CaseCheck::kValues) {
    return has_tolerance ? Wrong(place, "a tolerance without check 'values'") : absl::OkStatus();
  }
  for (const auto& [field, number] :
       {std::pair{"rtol", &op_case.rtol}, std::pair{"atol", &op_case.atol}}) {
    ABSL_ASSIGN_OR_RETURN(const element v, Field(fields, field, place));
    ABSL_ASSIGN_OR_RETURN(*number, As<double>(v, absl::StrCat(place, ".", field)));
    if (!(*number >= 0)) return Wrong(place, absl::StrCat(field, " is negative"));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpCase> ReadCase(element value, std::string_view place) {
  constexpr std::string_view kFields[] = {"id",      "args",  "kwargs", "expect", "error",
                                          "mutated", "check", "rtol",   "atol",   "tags"};
  ABSL_ASSIGN_OR_RETURN(const auto fields, Fields(value, kFields, place));
  OpCase op_case;
  ABSL_ASSIGN_OR_RETURN(const element id, Field(fields, "id", place));
  ABSL_ASSIGN_OR_RETURN(op_case.id, ReadString(id, absl::StrCat(place, ".id")));
  const std::string at = absl::StrCat("case ", op_case.id);
  ABSL_ASSIGN_OR_RETURN(const element args, Field(fields, "args", at));
  ABSL_ASSIGN_OR_RETURN(op_case.args,
                        ReadList<CaseValue>(args, absl::StrCat(at, ".args"), &ReadValue));
  ABSL_ASSIGN_OR_RETURN(const element kwargs, Field(fields, "kwargs", at));
  ABSL_ASSIGN_OR_RETURN(op_case.kwargs, ReadNamedValues(kwargs, absl::StrCat(at, ".kwargs")));
  ABSL_ASSIGN_OR_RETURN(const element tags, Field(fields, "tags", at));
  ABSL_ASSIGN_OR_RETURN(op_case.tags,
                        ReadList<std::string>(tags, absl::StrCat(at, ".tags"), &ReadString));

  const auto expect = fields.find("expect"), error = fields.find("error");
  if ((expect == fields.end()) == (error == fields.end()))
    return Wrong(at, "needs either 'expect' or 'error'");
  if (error != fields.end()) {
    if (fields.count("check") + fields.count("mutated") + fields.count("rtol") +
            fields.count("atol") !=
        0) {
      return Wrong(at, "an error has neither check, nor tolerance, nor mutated");
    }
    constexpr std::string_view kErrorFields[] = {"class", "torch_message"};
    const std::string error_at = absl::StrCat(at, ".error");
    ABSL_ASSIGN_OR_RETURN(const auto parts, Fields(error->second, kErrorFields, error_at));
    op_case.error.emplace();
    ABSL_ASSIGN_OR_RETURN(const element error_class, Field(parts, "class", error_at));
    ABSL_ASSIGN_OR_RETURN(op_case.error->error_class, ReadString(error_class, error_at));
    ABSL_ASSIGN_OR_RETURN(const element message, Field(parts, "torch_message", error_at));
    ABSL_ASSIGN_OR_RETURN(op_case.error->torch_message, ReadString(message, error_at));
    return op_case;
  }
  ABSL_ASSIGN_OR_RETURN(
      op_case.expect, ReadList<CaseValue>(expect->second, absl::StrCat(at, ".expect"), &ReadValue));
  ABSL_RETURN_IF_ERROR(ReadCheck(fields, at, op_case));
  if (const auto mutated = fields.find("mutated"); mutated != fields.end()) {
    ABSL_ASSIGN_OR_RETURN(op_case.mutated,
                          ReadNamedValues(mutated->second, absl::StrCat(at, ".mutated")));
  }
  return op_case;
}

}  // namespace

absl::StatusOr<OpCaseFile> ParseOpCaseFile(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root);
      error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", simdjson::error_message(error)));
  }
  constexpr std::string_view kFields[] = {"op", "schema", "family", "tags", "cases"};
  constexpr std::string_view kTags[] = {"core",     "view_copy", "pointwise",
                                        "portable", "quantized", "dim_order"};
  ABSL_ASSIGN_OR_RETURN(const auto fields, Fields(root, kFields, "file"));
  for (std::string_view name : kFields) ABSL_RETURN_IF_ERROR(Field(fields, name, "file").status());
  OpCaseFile file;
  ABSL_ASSIGN_OR_RETURN(file.op, ReadString(fields.at("op"), "op"));
  ABSL_ASSIGN_OR_RETURN(file.schema, ReadString(fields.at("schema"), "schema"));
  ABSL_ASSIGN_OR_RETURN(file.family, ReadString(fields.at("family"), "family"));
  ABSL_ASSIGN_OR_RETURN(const auto tags, Fields(fields.at("tags"), kTags, "tags"));
  for (const auto& [name, value] : tags) {
    ABSL_ASSIGN_OR_RETURN(file.tags[std::string(name)], As<bool>(value, "tags"));
  }
  ABSL_ASSIGN_OR_RETURN(file.cases, ReadList<OpCase>(fields.at("cases"), "cases", &ReadCase));
  absl::flat_hash_set<std::string_view> ids;
  for (const OpCase& c : file.cases) {
    if (!ids.insert(c.id).second)
      return Wrong("cases", absl::StrCat("id '", c.id, "' is repeated"));
  }
  return file;
}

absl::StatusOr<OpCaseFile> ReadOpCaseFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": can't be read"));
  const std::string json((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StatusOr<OpCaseFile> cases = ParseOpCaseFile(json);
  if (!cases.ok()) return Annotate(cases.status(), path);
  return cases;
}

absl::StatusOr<std::vector<std::string>> OpCaseFiles(const std::string& folder_or_file) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = folder_or_file;
  if (fs::is_regular_file(folder, error)) folder = folder.parent_path();
  std::vector<std::string> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") files.push_back(it->path().string());
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat("no vectors in '", folder_or_file, "'"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace belay::conformance
