// Classes T, N, I, B, P1 and P2 of `.pt2`: contents of the JSON documents and payloads.
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/node_json.h"
#include "fuzz/negative/model_json.h"
#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

using exir::Changes;
using exir::Input;
using exir::MetaJson;
using exir::NodeJson;
using exir::TensorArg;
using exir::WithNodes;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kLoss = absl::StatusCode::kDataLoss;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kMissing = absl::StatusCode::kNotFound;

constexpr char kConfig[] = "data/weights/model_weights_config.json";

std::string Pack(const Changes& changes) {
  return exir::PackArchive(exir::DefaultFiles(ModelJson(changes)));
}
std::string Change(const std::string& from, const std::string& to) { return Pack({{from, to}}); }
std::string WithModel(const std::string& json) {
  return exir::PackArchive(exir::DefaultFiles(json));
}
// Returns a model whose tensor x has other metadata.
std::string WithX(const std::string& meta) {
  return Change("\"x\": " + MetaJson({2, 3}), "\"x\": " + meta);
}
// Returns a model whose weight w has another entry in the config.
std::string WithWeight(const std::string& entry) {
  exir::ArchiveFiles files = exir::DefaultFiles(ModelJson());
  const std::string config = "{\"config\": {" + entry + "}}";
  exir::SetFile(files, kConfig, &config);
  return exir::PackArchive(files);
}
std::string WeightEntry(const std::string& meta, const std::string& path = "weight_0") {
  return "\"w\": {\"path_name\": \"" + path +
         "\", \"is_param\": true, \"use_pickle\": false, \"tensor_meta\": " + meta + "}";
}
std::string WithWeightBytes(const std::string& bytes) {
  exir::ArchiveFiles files = exir::DefaultFiles(ModelJson());
  exir::SetFile(files, "data/weights/weight_0", &bytes);
  return exir::PackArchive(files);
}
std::string Meta(const std::string& sizes, const std::string& strides,
                 const std::string& offset = "0", const std::string& dtype = "7") {
  return "{\"dtype\": " + dtype + ", \"sizes\": [" + sizes +
         "], \"requires_grad\": false, \"device\": {\"type\": \"cpu\", \"index\": null}, "
         "\"strides\": [" +
         strides + "], \"storage_offset\": {\"as_int\": " + offset + "}, \"layout\": 7}";
}
std::string AsInts(const std::vector<std::string>& numbers) {
  std::string text;
  for (const std::string& number : numbers) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "{\"as_int\": ", number, "}");
  }
  return text;
}
std::string WithArgument(const std::string& argument) {
  return Pack(WithNodes(NodeJson("torch.ops.mine.op.default", {Input("", argument)}, "")));
}
std::string Graph(const std::string& body) {
  return "{\"as_graph\": {\"name\": \"body\", \"graph\": " + body + "}}";
}
std::string Cond(const std::string& predicate, const std::string& yes, const std::string& no) {
  return NodeJson("torch.ops.higher_order.cond",
                  {Input("", predicate), Input("", Graph(yes)), Input("", Graph(no)),
                   Input("", "{\"as_tensors\": []}")},
                  "{\"as_tensors\": []}", "cond");
}
std::string Body(const std::string& nodes) {
  return "{\"inputs\": [], \"outputs\": [], \"nodes\": [" + nodes +
         "], \"tensor_values\": {}, \"sym_int_values\": {}, \"sym_bool_values\": {}, "
         "\"is_single_tensor_return\": false, \"custom_obj_values\": {}, \"sym_float_values\": {}}";
}
const NegativeBytes kArchives[] = {
    // T1: missing required fields.
    {"T1_graph_module", "a model without graph_module", kInvalid, "'graph_module' is missing",
     [] { return Change("\"graph_module\"", "\"graph_modul\""); }},
    {"T1_graph", "a graph module without graph", kInvalid, "'graph' is missing",
     [] { return Change("\"graph\": {", "\"grap\": {"); }},
    {"T1_signature", "a graph module without signature", kInvalid, "'signature' is missing",
     [] { return Change("\"signature\": {\n", "\"signatur\": {\n"); }},
    {"T1_nodes", "a graph without nodes", kInvalid, "'nodes' is missing",
     [] { return Change("\"nodes\"", "\"node\""); }},
    {"T1_tensor_values", "a graph without its table of tensors", kInvalid,
     "'tensor_values' is missing", [] { return Change("\"tensor_values\"", "\"tensor_value\""); }},
    {"T1_target", "a node without operator", kInvalid, "'target' is missing",
     [] {
       return Change("\"target\": \"torch.ops.aten.relu.default\"",
                     "\"targe\": \"torch.ops.aten.relu.default\"");
     }},
    {"T1_parameter_name", "a parameter without name", kInvalid, "'parameter_name' is missing",
     [] { return Change("\"parameter_name\"", "\"parameter_nam\""); }},
    {"T1_schema_version", "a model without schema version", kInvalid, "'schema_version' is missing",
     [] { return Change("\"schema_version\"", "\"schema_versio\""); }},
    {"T1_sizes", "a tensor without sizes", kInvalid, "'sizes' is missing",
     [] { return WithX("{\"dtype\": 7, \"strides\": []}"); }},
    {"T1_dtype", "a tensor without dtype", kInvalid, "'dtype' is missing",
     [] { return WithX("{\"sizes\": [], \"strides\": []}"); }},
    {"T1_config", "a config without entries", kInvalid, "'config' is missing",
     [] {
       exir::ArchiveFiles files = exir::DefaultFiles(ModelJson());
       const std::string config = "{}";
       exir::SetFile(files, kConfig, &config);
       return exir::PackArchive(files);
     }},
    {"T1_weight_entry", "a parameter that no config names", kInvalid,
     "parameter 'w' (input 'p_w'): the archive has no tensor of this name",
     [] { return WithWeight(""); }},
    {"T1_path_name", "a weight without file", kInvalid, "'path_name' is missing",
     [] { return WithWeight("\"w\": {\"is_param\": true}"); }},
    {"T1_null_graph", "a graph that is null", kInvalid, "expected an object, found null",
     [] {
       return WithModel(
           "{\"graph_module\": null, \"opset_version\": {}, \"range_constraints\": {}, "
           "\"schema_version\": {\"major\": 8, \"minor\": 20}}");
     }},

    // T2: values of wrong types, and invalid strings.
    {"T2_name_is_number", "a name that is a number", kInvalid,
     "expected a string, found an integer",
     [] { return Change("\"parameter_name\": \"w\"", "\"parameter_name\": 3"); }},
    {"T2_no_json", "a model that is not JSON", kInvalid, "models/model.json",
     [] { return WithModel("graph_module: x"); }},
    {"T2_json_cut_off", "a model that is cut off", kInvalid, "models/model.json",
     [] { return WithModel(ModelJson().substr(0, 1000)); }},
    {"T2_not_utf8", "a name that is not UTF-8", kInvalid, "models/model.json",
     [] { return Change("\"parameter_name\": \"w\"", "\"parameter_name\": \"\xff\xfe\""); }},
    {"T2_empty_model", "a model of no bytes", kInvalid, "models/model.json",
     [] { return WithModel(""); }},
    {"T2_array_model", "a model that is an array", kInvalid, "expected an object, found an array",
     [] { return WithModel("[]"); }},

    // T3: unknown members of unions and enumerations.
    {"T3_argument_tag", "an argument of an unknown kind", kNewer,
     "an argument has the unknown kind 'as_something'",
     [] { return WithArgument("{\"as_something\": 1}"); }},
    {"T3_argument_two_tags", "an argument of two kinds", kInvalid, "a union with more than one tag",
     [] { return WithArgument("{\"as_int\": 1, \"as_bool\": true}"); }},
    {"T3_argument_no_tag", "an argument of no kind", kInvalid, "a union without a tag",
     [] { return WithArgument("{}"); }},
    {"T3_dtype", "dtype 99", kNewer, "a tensor of dtype number 99",
     [] { return WithX(MetaJson({2, 3}, 99)); }},
    {"T3_layout", "layout 99", kInvalid, "unknown layout number 99",
     [] { return WithArgument("{\"as_layout\": 99}"); }},
    {"T3_memory_format", "memory format 0", kInvalid, "unknown memory format number 0",
     [] { return WithArgument("{\"as_memory_format\": 0}"); }},
    {"T3_output_spec", "an output of an unknown kind", kInvalid, "something_output",
     [] { return Change("{\"user_output\":", "{\"something_output\":"); }},
    {"T3_target", "an operator with a blank in its name", kInvalid, "not the name of an operator",
     [] { return Change("torch.ops.aten.relu.default", "torch.ops.aten.relu default"); }},

    // T4: undefined names.
    {"T4_argument", "an argument that no node defines", kInvalid, "nothing",
     [] { return WithArgument(TensorArg("nothing")); }},
    {"T4_output", "an output that no node defines", kInvalid, "nothing",
     [] {
       return Change("\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}],\n      \"nodes\"",
                     "\"outputs\": [{\"as_tensor\": {\"name\": \"nothing\"}}],\n      \"nodes\"");
     }},
    {"T4_table", "a value that the tables do not have", kInvalid,
     "the graph's tables have no entry for the value 'relu'",
     [] { return Change("\"relu\": " + MetaJson({2, 3}), "\"rely\": " + MetaJson({2, 3})); }},
    {"T4_parameter", "a parameter that has no weight", kInvalid,
     "parameter 'v' (input 'p_w'): the archive has no tensor of this name",
     [] { return Change("\"parameter_name\": \"w\"", "\"parameter_name\": \"v\""); }},
    {"T4_more_specs", "fewer inputs than specs", kInvalid, "but the signature has 2 input specs",
     [] {
       return Change(
           "\"inputs\": [{\"as_tensor\": {\"name\": \"p_w\"}}, {\"as_tensor\": {\"name\": \"x\"}}]",
           "\"inputs\": [{\"as_tensor\": {\"name\": \"p_w\"}}]");
     }},

    // T5: lists.
    {"T5_null_node", "a node that is null", kInvalid, "expected an object, found null",
     [] { return Change("\"nodes\": [", "\"nodes\": [null, "); }},
    {"T5_null_element", "a list of ints with null", kInvalid, "expected an integer, found null",
     [] { return WithArgument("{\"as_ints\": [1, null]}"); }},
    {"T5_text_element", "a list of ints with a string", kInvalid,
     "expected an integer, found a string",
     [] { return WithArgument("{\"as_ints\": [1, \"2\"]}"); }},

    // N: tensors.
    {"N1_numel_overflow", "2^62 x 4 elements", kInvalid, "the number of elements exceeds int64",
     [] { return WithX(Meta(AsInts({"4611686018427387904", "4"}), AsInts({"4", "1"}))); }},
    {"N1_weight_overflow", "a weight of 2^62 x 2^62 elements", kInvalid, "'w'",
     [] {
       return WithWeight(WeightEntry(
           Meta(AsInts({"4611686018427387904", "1"}), AsInts({"4611686018427387904", "1"}))));
     }},
    {"N1_extent_overflow", "a weight whose last element is beyond 2^63", kInvalid,
     "its extent exceeds int64",
     [] {
       return WithWeight(
           WeightEntry(Meta(AsInts({"4", "3"}), AsInts({"4611686018427387904", "1"}))));
     }},
    {"N1_size_beyond_int64", "a size of 2^64", kInvalid, "models/model.json",
     [] { return WithX(Meta(AsInts({"18446744073709551616", "3"}), AsInts({"3", "1"}))); }},
    {"N2_rank_17", "a tensor of 17 dimensions", kNewer, "a tensor of 17 dimensions; at most 16",
     [] { return WithX(MetaJson(std::vector<int64_t>(17, 1))); }},
    {"N2_rank_1000", "a tensor of 1000 dimensions", kNewer, "a tensor of 1000 dimensions",
     [] { return WithX(MetaJson(std::vector<int64_t>(1000, 1))); }},
    {"N2_weight_rank_17", "a weight of 17 dimensions", kNewer,
     "a tensor of 17 dimensions; at most 16",
     [] { return WithWeight(WeightEntry(MetaJson(std::vector<int64_t>(17, 1)))); }},
    {"N3_size_negative", "a size of -3", kInvalid, "the size -3 is negative",
     [] { return WithX(Meta(AsInts({"-3", "3"}), AsInts({"3", "1"}))); }},
    {"N3_stride_negative", "a weight with a stride of -1", kInvalid, "the stride -1 is negative",
     [] { return WithWeight(WeightEntry(Meta(AsInts({"2", "3"}), AsInts({"3", "-1"})))); }},
    {"N3_offset_negative", "a weight before its storage", kInvalid,
     "the storage offset is negative",
     [] { return WithWeight(WeightEntry(Meta(AsInts({"2", "3"}), AsInts({"3", "1"}), "-1"))); }},
    {"N4_strides_short", "fewer strides than sizes", kInvalid, "2 sizes, but 1 strides",
     [] { return WithX(Meta(AsInts({"2", "3"}), AsInts({"1"}))); }},
    {"N5_product_beside_zero", "no elements beside 2^62 x 4", kInvalid,
     "the number of elements exceeds int64",
     [] {
       return WithX(Meta(AsInts({"0", "4611686018427387904", "4"}), AsInts({"4", "4", "1"})));
     }},
    {"N6_weight_path", "a weight in a file that is missing", kMissing, "data/weights/weight_7",
     [] { return WithWeight(WeightEntry(MetaJson({2, 3}), "weight_7")); }},
    {"N6_offset_beyond_storage", "a weight outside of its storage", kLoss,
     "weights shorter than declared: 'w' needs",
     [] { return WithWeight(WeightEntry(Meta(AsInts({"2", "3"}), AsInts({"3", "1"}), "1"))); }},
    {"N6_offset_overflow", "a weight at element 2^62", kInvalid, "its extent exceeds int64",
     [] {
       return WithWeight(
           WeightEntry(Meta(AsInts({"2", "3"}), AsInts({"3", "1"}), "4611686018427387904")));
     }},
    {"N9_range_empty", "a range from 5 to 4", kInvalid, "the range [5, 4] is empty",
     [] {
       return Change("\"range_constraints\": {}",
                     "\"range_constraints\": {\"s0\": {\"min_val\": 5, \"max_val\": 4}}");
     }},
    {"N9_weight_other_size", "a weight of other sizes than its parameter", kInvalid, "p_w",
     [] { return Change("\"p_w\": " + MetaJson({2, 3}), "\"p_w\": " + MetaJson({3, 2})); }},

    // I: nodes.
    {"I1_condition_missing", "a condition that no node defines", kInvalid, "nothing",
     [] { return Pack(WithNodes(Cond(TensorArg("nothing"), Body(""), Body("")))); }},
    {"I5_argument_missing", "a call without its argument", kInvalid, "'self' (Tensor) is missing",
     [] {
       return Change(
           "[{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"add\"}}, \"kind\": 1}]",
           "[]");
     }},
    {"I5_argument_unknown", "a call with an unknown argument", kInvalid, "unknown argument 'input'",
     [] {
       return Change(
           "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"add\"}}, \"kind\": 1}",
           "{\"name\": \"input\", \"arg\": {\"as_tensor\": {\"name\": \"add\"}}, \"kind\": 1}");
     }},
    {"I5_results", "a call with a result too many", kInvalid, "there are 2 outputs",
     [] {
       return Change(
           "\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}],\n         \"metadata\"",
           "\"outputs\": [{\"as_tensor\": {\"name\": \"relu\"}}, {\"as_tensor\": {\"name\": "
           "\"x\"}}],\n         \"metadata\"");
     }},
    {"I4_value_twice", "two nodes that define one value", kInvalid,
     "a value named 'add' already exists",
     [] { return Pack(WithNodes(NodeJson("torch.ops.mine.op.default", {}, TensorArg("add")))); }},

    // A, B: payloads.
    {"A1_zeros_of_2_40", "an empty record for a tensor of 2^40 bytes", kExhausted,
     "max_zero_filled_bytes",
     [] {
       exir::ArchiveFiles files = exir::DefaultFiles(ModelJson());
       const std::string config =
           "{\"config\": {" + WeightEntry(MetaJson({int64_t{1} << 38})) + "}}";
       const std::string nothing;
       exir::SetFile(files, kConfig, &config);
       exir::SetFile(files, "data/weights/weight_0", &nothing);
       return exir::PackArchive(files);
     }},
    {"A2_storage_no_multiple", "a storage of 25 bytes for floats", kLoss,
     "not a multiple of the 4 bytes", [] { return WithWeightBytes(std::string(25, '\0')); }},
    {"B1_weight_above_data", "a weight larger than its record", kLoss,
     "weights shorter than declared: 'w' needs 24 bytes",
     [] { return WithWeightBytes(std::string(20, '\0')); }},
    {"B1_weight_of_1_TiB", "a weight of 2^40 bytes in a record of 24", kLoss,
     "weights shorter than declared: 'w' needs 1099511627776 bytes",
     [] { return WithWeight(WeightEntry(MetaJson({int64_t{1} << 38}))); }},
    {"B3_in_spec_number", "a pytree spec that is a number", kInvalid,
     "expected a string, found an integer",
     [] { return Change("\"in_spec\": \"in\"", "\"in_spec\": 1"); }},

    // P1, P2.
    {"P1_duplicate_field", "a field twice", kInvalid, "duplicate field 'opset_version'",
     [] {
       return Change("\"opset_version\": {\"aten\": 10}",
                     "\"opset_version\": {\"aten\": 10}, \"opset_version\": {\"aten\": 9}");
     }},
    {"P1_duplicate_value", "two values of one name", kInvalid, "two entries have this name",
     [] {
       return Change("\"relu\": " + MetaJson({2, 3}),
                     "\"relu\": " + MetaJson({2, 3}) + ", \"relu\": " + MetaJson({3, 2}));
     }},
    {"P1_empty_name", "a value without a name", kInvalid, "the name is empty",
     [] { return Change("\"parameter_name\": \"w\"", "\"parameter_name\": \"\""); }},
    {"P1_dtype_negative", "dtype -1", kNewer, "a tensor of dtype number -1",
     [] { return WithX(MetaJson({2, 3}, -1)); }},
    {"P2_deep_json", "a document of 10000 levels", kExhausted, "models/model.json",
     [] { return WithModel(std::string(10000, '[') + std::string(10000, ']')); }},
    {"P2_deep_graphs", "70 graphs within one another", kExhausted, "max_nesting",
     [] {
       std::string nodes;
       for (int i = 0; i < 70; ++i) {
         nodes = Cond("{\"as_bool\": true}", Body(nodes), Body(""));
       }
       return Pack(WithNodes(nodes));
     }},
    {"P2_deep_expression", "an expression of 2000 brackets", kInvalid, "expression:",
     [] {
       return WithX(Meta("{\"as_expr\": {\"expr_str\": \"" + std::string(2000, '(') + "s0" +
                             std::string(2000, ')') + "\", \"hint\": null}}, {\"as_int\": 3}",
                         AsInts({"3", "1"})));
     }},
    {"P3_weight_path_above", "a weight in a file above the folder", kInvalid,
     "not the name of a file",
     [] { return WithWeight(WeightEntry(MetaJson({2, 3}), "../../../etc/passwd")); }},
    {"P3_weight_path_absolute", "a weight in a file by absolute path", kInvalid,
     "not the name of a file",
     [] { return WithWeight(WeightEntry(MetaJson({2, 3}), "/etc/passwd")); }},
};

}  // namespace

std::vector<NegativeFile> ArchiveContentFiles() {
  return FilesOf(kArchives, NegativeReader::kArchive, ".pt2");
}

}  // namespace belay::fuzz
