#include "exir/import/testing/archive.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "exir/import/import.h"
#include "exir/import/testing/zip_writer.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr OpDef kOps[] = {
    {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"},
    {.schema = "aten::relu(Tensor self) -> Tensor"},
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor"},
    {.schema = "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
               "padding=0, bool ceil_mode=False, "
               "bool count_include_pad=True, int? divisor_override=None) -> Tensor"},
    {.schema = "aten::gelu(Tensor self, *, str approximate='none') -> Tensor"},
    {.schema = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"},
    {.schema =
         "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"},
    {.schema = "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? "
               "scale_factors) -> Tensor"},
    {.schema = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"},
    {.schema = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"},
    {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"},
    {.schema = "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> "
               "Tensor(a)[]"},
    {.schema = "aten::sym_size.int(Tensor self, int dim) -> SymInt"},
    {.schema = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
               "Tensor? bias, float eps) -> "
               "(Tensor, Tensor, Tensor)"},
    {.schema =
         "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
         "device=None, bool? "
         "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor"},
    {.schema = "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()"},
    {.schema = "_operator::mul(Scalar a, Scalar b) -> Scalar"},
};

constexpr std::string_view kProgram = R"json({
  "graph_module": {
    "graph": {
      "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
      "outputs": [{"as_tensor": {"name": "relu"}}],
      "nodes": [
        {"target": "torch.ops.aten.add.Tensor",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                    {"name": "other", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1}],
         "outputs": [{"as_tensor": {"name": "add"}}],
         "metadata": {"stack_trace": "  File \"model.py\", line 12, in forward\n    return self.act(x + self.w)",
                      "nn_module_stack": "L__self__,,__main__.Net;L__self__act,act,torch.nn.modules.activation.ReLU"},
         "is_hop_single_tensor_return": null, "name": "add"},
        {"target": "torch.ops.aten.relu.default",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "add"}}, "kind": 1}],
         "outputs": [{"as_tensor": {"name": "relu"}}],
         "metadata": {}, "is_hop_single_tensor_return": null, "name": "relu"}
      ],
      "tensor_values": {"p_w": @meta, "x": @meta, "add": @meta, "relu": @meta},
      "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false,
      "custom_obj_values": {}, "sym_float_values": {}
    },
    "signature": {
      "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                      {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}]
    },
    "module_call_graph": [
      {"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": "in", "out_spec": "out", "forward_arg_names": ["x"]}},
      {"fqn": "act", "signature": null}],
    "metadata": {}, "treespec_namedtuple_fields": {}
  },
  "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
  "verifiers": ["ATEN"], "torch_version": "2.13.0", "guards_code": []
})json";

}  // namespace

const OpRegistry& TestOps() {
  static const OpRegistry* const ops = [] {
    const absl::Span<const OpDef> table(kOps);
    absl::StatusOr<std::unique_ptr<OpRegistry>> created =
        OpRegistry::Create(absl::MakeConstSpan(&table, 1));
    if (!created.ok()) std::fprintf(stderr, "%s\n", created.status().ToString().c_str());
    ABSL_CHECK(created.ok());
    return created->release();
  }();
  return *ops;
}

std::string MetaJson(const std::vector<int64_t>& sizes, int dtype) {
  std::string size_list, stride_list;
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    const std::string comma = stride_list.empty() ? "" : ", ";
    size_list = absl::StrCat("{\"as_int\": ", sizes[i], "}", comma, size_list);
    stride_list = absl::StrCat("{\"as_int\": ", stride, "}", comma, stride_list);
    stride *= sizes[i];
  }
  return absl::StrCat("{\"dtype\": ", dtype, ", \"sizes\": [", size_list,
                      "], \"requires_grad\": false, \"device\": {\"type\": \"cpu\", \"index\": "
                      "null}, \"strides\": [",
                      stride_list, "], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}");
}

std::string ProgramJson(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text(kProgram);
  constexpr std::string_view kMeta = "@meta";
  const std::string meta = MetaJson({2, 3});
  for (size_t at = text.find(kMeta); at != std::string::npos;
       at = text.find(kMeta, at + meta.size())) {
    text.replace(at, kMeta.size(), meta);
  }
  for (const auto& [from, to] : changes) {
    const size_t at = text.find(from);
    if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
      std::fprintf(stderr, "ProgramJson: not exactly one '%s'\n", from.c_str());
      std::abort();
    }
    text.replace(at, from.size(), to);
  }
  return text;
}

ArchiveFiles DefaultFiles(std::string program) {
  return {
      {"data/weights/weight_0",
       std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40\0\0\xc0\x40", 24)},
      {"data/weights/model_weights_config.json",
       absl::StrCat("{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"is_param\": true, "
                    "\"use_pickle\": false, "
                    "\"tensor_meta\": ",
                    MetaJson({2, 3}), "}}}")},
      {"data/constants/model_constants_config.json", "{\"config\": {}}"},
      {"models/model.json", std::move(program)},
      {"data/sample_inputs/model.pt", ""},
      {"archive_format", "pt2"},
      {"archive_version", "0"},
      {".data/version", "6\n"},
      {"byteorder", "little"},
      {".data/serialization_id", "0123456789012345678901234567890123456789"},
  };
}

void SetFile(ArchiveFiles& files, std::string_view path, const std::string* content) {
  for (auto it = files.begin(); it != files.end(); ++it) {
    if (it->first != path) continue;
    if (content == nullptr) {
      files.erase(it);
    } else {
      it->second = *content;
    }
    return;
  }
  if (content != nullptr) files.emplace_back(std::string(path), *content);
}

std::string PackArchive(const ArchiveFiles& files, std::string_view root) {
  std::vector<ZipWriterEntry> entries;
  for (const auto& [path, content] : files) {
    entries.push_back(
        {.name = absl::StrCat(root, path), .content = content, .streamed = true, .alignment = 64});
  }
  return WriteZip(entries, {.zip64 = true});
}

absl::StatusOr<ExportedProgram> ImportText(const std::string& archive,
                                           const ImportOptions& options) {
  Storage storage = ToStorage(archive);
  const absl::Span<const std::byte> bytes = storage.bytes;
  return ImportBytes(std::move(storage.owner), bytes, TestOps(), options);
}

absl::StatusOr<ExportedProgram> ImportChanged(
    const std::vector<std::pair<std::string, std::string>>& changes, const ImportOptions& options) {
  return ImportText(PackArchive(DefaultFiles(ProgramJson(changes))), options);
}

}  // namespace belay::exir
