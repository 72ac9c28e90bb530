#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/node_json.h"
#include "exir/import/testing/zip_writer.h"
#include "fuzz/corpus/seeds.h"
#include "fuzz/generators/container_generator.h"
#include "runtime/core/str_cat.h"

namespace belay::fuzz {
namespace {

using exir::ArchiveFiles;
using exir::ZipWriterEnd;
using exir::ZipWriterEntry;

// Returns an entry in deflate format with one stored block: the same bytes with every zlib version.
ZipWriterEntry Deflated(std::string name, const std::string& content) {
  ZipWriterEntry entry;
  entry.name = std::move(name);
  const auto size = static_cast<uint16_t>(content.size());
  const auto inverse = static_cast<uint16_t>(~size);
  entry.content = std::string("\1", 1);
  for (const uint16_t number : {size, inverse}) {
    entry.content.push_back(static_cast<char>(number & 0xff));
    entry.content.push_back(static_cast<char>(number >> 8));
  }
  entry.content += content;
  entry.method = 8;
  entry.size = content.size();
  entry.compressed_size = entry.content.size();
  entry.crc32 = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  return entry;
}

ArchiveFiles Files() { return exir::DefaultFiles(exir::ProgramJson()); }

// Returns an archive as written by Python's zipfile.
std::string DeflatedArchive() {
  std::vector<ZipWriterEntry> entries;
  for (const auto& [path, content] : Files()) {
    if (content.empty()) {
      ZipWriterEntry entry;
      entry.name = "model/" + path;
      entries.push_back(std::move(entry));
    } else {
      entries.push_back(Deflated("model/" + path, content));
    }
  }
  return exir::WriteZip(entries);
}

// Returns an archive of the old layout without a top-level folder.
std::string FlatArchive() {
  const std::string pickle = "\x80\x02}q\1.";
  std::vector<ZipWriterEntry> entries;
  const auto add = [&](std::string name, std::string content) {
    ZipWriterEntry entry;
    entry.name = std::move(name);
    entry.content = std::move(content);
    entries.push_back(std::move(entry));
  };
  add("version", "5.1");
  add("serialized_exported_program.json", exir::ProgramJson());
  add("serialized_state_dict.pt", TorchSaveFile(pickle));
  add("serialized_constants.pt", TorchSaveFile(pickle));
  return exir::WriteZip(entries);
}

// --- Pickles, as in exir/import/torch_save_test.cc ---

std::string Text(const std::string& text) {
  return std::string("X") + static_cast<char>(text.size()) + std::string(3, '\0') + text;
}
std::string Int(int value) { return std::string("K") + static_cast<char>(value); }
std::string Tuple(const std::vector<int>& values) {
  std::string out = "(";
  for (const int v : values) out += Int(v);
  return out + "t";
}
std::string Tensor(const std::string& type, const std::string& key, int count,
                   const std::vector<int>& sizes, const std::vector<int>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + Text("storage") + "c" + type + "\n" + Text(key) +
         Text("cpu") + Int(count) + "tQ" + Int(0) + Tuple(sizes) + Tuple(strides) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR";
}
std::string Parameter(const std::string& tensor) {
  return "ctorch._utils\n_rebuild_parameter\n(" + tensor +
         "\x88"
         "ccollections\nOrderedDict\n)RtR";
}
std::string Dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "\x80\x02}(";
  for (const auto& [key, value] : entries) out += Text(key) + value;
  return out + "u.";
}

void AddPickles(Seeds& seeds) {
  const auto add = [&](std::string name, std::string bytes) {
    seeds.push_back({"torch_save", std::move(name), std::move(bytes)});
  };
  const std::string floats = Tensor("torch\nFloatStorage", "0", 6, {2, 3}, {3, 1});
  const std::string longs = Tensor("torch\nLongStorage", "1", 3, {3}, {1});
  const std::string v3 = "ctorch._utils\n_rebuild_tensor_v3\n((" + Text("storage") +
                         "ctorch.storage\nUntypedStorage\n" + Text("0") + Text("cpu") + Int(4) +
                         "tQ" + Int(0) + Tuple({2}) + Tuple({1}) +
                         "\x89"
                         "ccollections\nOrderedDict\n)Rctorch\nuint16\ntR";
  add("empty", "\x80\x02}q\1.");
  add("tensor", "\x80\x02" + floats + ".");
  add("untyped", "\x80\x02" + v3 + ".");
  add("dictionary", Dict({{"w", Parameter(floats)}, {"n", longs}}));
  add("wide_strides", Dict({{"w", Tensor("torch\nFloatStorage", "0", 6, {2, 2}, {60, 60})}}));
  add("number", Dict({{"n", Int(3)}}));
  add("too_long", Dict({{"w", Tensor("torch\nFloatStorage", "0", 99, {99}, {1})}}));
  add("missing_storage", Dict({{"w", Tensor("torch\nFloatStorage", "7", 6, {2, 3}, {3, 1})}}));
  add("no_storage", Dict({{"w", Tensor("torch\nFloatStorage", "2", 0, {0}, {1})}}));
  add("forbidden",
      "\x80\x02"
      "cos\nsystem\n(X\2\0\0\0lstR.");
  add("values", std::string("\x80\x02(K\1M\1\1J\1\1\1\1G?\xf0\0\0\0\0\0\0\x88\x89N]t.", 29));
  add("memo", "\x80\x02]q\1(h\1h\1e.");
}

// --- JSON ---

void AddJson(Seeds& seeds) {
  const auto add = [&](std::string name, std::string bytes) {
    seeds.push_back({"pt2_json", std::move(name), std::move(bytes)});
  };
  using exir::Input;
  using exir::NodeJson;
  using exir::ProgramJson;
  using exir::TensorArg;
  add("program", ProgramJson());
  add("null", "null");
  add("empty", "{}");
  add("deep", std::string(2000, '[') + std::string(2000, ']'));
  add("bare_numbers", "{\"a\": NaN, \"b\": -Infinity, \"c\": 1e999, \"d\": 99999999999999999999}");
  add("literals",
      ProgramJson(exir::WithNodes(
          NodeJson("torch.ops.some.op.default",
                   {Input("a", "{\"as_ints\": [1, -2]}"), Input("b", "{\"as_float\": 0.5}"),
                    Input("c", "{\"as_bool\": true}"), Input("d", "{\"as_string\": \"text\"}"),
                    Input("e", "{\"as_none\": []}"), Input("f", "{\"as_scalar_type\": 7}"),
                    Input("g", "{\"as_memory_format\": 1}"), Input("h", "{\"as_layout\": 7}"),
                    Input("i", "{\"as_device\": {\"type\": \"cpu\", \"index\": null}}"),
                    Input("j", "{\"as_floats\": [0.5, 1]}"), Input("k", "{\"as_bools\": [true]}"),
                    Input("l", "{\"as_strings\": [\"a\"]}"),
                    Input("m", "{\"as_tensors\": [{\"name\": \"x\"}]}"),
                    Input("n",
                          "{\"as_optional_tensors\": [{\"as_none\": []}, "
                          "{\"as_tensor\": {\"name\": \"x\"}}]}"),
                    Input("o", "{\"as_complex\": {\"real\": 1, \"imag\": 2}}")},
                   TensorArg("r")),
          exir::Tensor("r"))));
  add("unknown_argument",
      ProgramJson(exir::WithNodes(NodeJson("torch.ops.aten.relu.default",
                                           {Input("self", "{\"as_nothing\": 1}")}, TensorArg("r")),
                                  exir::Tensor("r"))));
  add("symbolic",
      ProgramJson(exir::WithNodes(
          NodeJson("torch.ops.aten.sym_size.int",
                   {Input("self", TensorArg("x")), Input("dim", "{\"as_int\": 0}")},
                   "{\"as_sym_int\": {\"as_name\": \"n\"}}"),
          "",
          "\"n\": {\"as_expr\": {\"expr_str\": \"Symbol('s0', integer=True)\", \"hint\": "
          "{\"as_int\": 2}}}")));
}

}  // namespace

void AddArchiveSeeds(Seeds& seeds) {
  const auto add = [&](std::string name, std::string bytes) {
    seeds.push_back({"pt2_zip", std::move(name), std::move(bytes)});
  };
  const std::string valid = exir::PackArchive(Files());
  add("archive", valid);
  add("deflated", DeflatedArchive());
  add("flat", FlatArchive());
  add("no_folder", exir::PackArchive(Files(), ""));
  add("empty", exir::WriteZip({}));
  add("truncated", valid.substr(0, valid.size() / 2));
  add("pickle", "\x80\x02}q\1.");
  {
    ArchiveFiles files = Files();
    const std::string pickle = TorchSaveFile("\x80\x02}q\1.");
    exir::SetFile(files, "data/weights/model_weights_config.json", nullptr);
    exir::SetFile(files, "data/weights/weight_0", nullptr);
    exir::SetFile(files, "data/weights/model.pt", &pickle);
    add("pickled_weights", exir::PackArchive(files));
    const std::string big = "big";
    exir::SetFile(files, "byteorder", &big);
    add("big_endian", exir::PackArchive(files));
    const std::string version = "99";
    exir::SetFile(files, "byteorder", nullptr);
    exir::SetFile(files, "archive_version", &version);
    add("version_99", exir::PackArchive(files));
  }
  ZipWriterEnd end;
  end.zip64 = true;
  end.zip64_entries = ~uint64_t{0};
  add("many_entries", exir::WriteZip({}, end));
  AddPickles(seeds);
  AddJson(seeds);
}

}  // namespace belay::fuzz
