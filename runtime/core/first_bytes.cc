#include "runtime/core/first_bytes.h"

#include <algorithm>
#include <string_view>

#include "runtime/core/bytes.h"
#include "runtime/core/str_cat.h"

namespace belay {
namespace {

using std::string_view_literals::operator""sv;

struct FileKind {
  size_t at;
  std::string_view bytes;
  std::string_view name;
};

// Returns whether the bytes begin as an onnx.ModelProto: field 1, the IR version (3 to 31), and
// then the name of the producer, the graph, or the operator sets.
bool IsOnnx(std::string_view text) {
  return text.size() > 2 && text[0] == 0x08 && text[1] >= 3 && text[1] < 32 &&
         (text[2] == 0x12 || text[2] == 0x3a || text[2] == 0x42);
}

// Files that users commonly pass by mistake. Magic numbers: runtime/schema/file_format.md,
// APPNOTE.TXT of zip, numpy.lib.format, the protocol byte of pickle, the file_identifier in
// ExecuTorch's program.fbs and TensorFlow Lite's schema.fbs, the specifications of GGUF, HDF5,
// safetensors and Git LFS.
constexpr FileKind kFileKinds[] = {
    {0, "BELAY\r\n\x1a"sv, "a Belay program file"sv},
    {0, "BELAY\r\n\x1c"sv, "a companion file of a Belay program"sv},
    {0, "BELAY"sv, "a Belay file that was damaged by a text-mode transfer"sv},
    {0, "PK\x03\x04"sv,
     "a zip file, like .npz files and the .pt2 archives that 'belay lower' reads"sv},
    {0, "\x93NUMPY"sv, "a NumPy array"sv},
    {0, "\x80\x02"sv, "a pickle"sv},
    {0, "\x80\x04"sv, "a pickle"sv},
    {0, "\x1f\x8b"sv, "compressed by gzip"sv},
    {0, "GGUF"sv, "a GGUF file"sv},
    {4, "ET12"sv,
     "an ExecuTorch program (.pte): 'belay lower' reads the .pt2 archive of the model"sv},
    {4, "TFL3"sv, "a TensorFlow Lite model"sv},
    // The length of the header, below 2^40, and the header: a JSON object.
    {5, "\0\0\0{\""sv,
     "a safetensors file: weights without a program; export the model with torch.export"sv},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"sv},
    {0, "version https://git-lfs"sv, "a Git LFS pointer: fetch the file it stands for"sv},
};

}  // namespace

std::string DescribeFirstBytes(absl::Span<const std::byte> file) {
  if (file.empty()) return "it is empty";
  const std::string_view text = AsString(file.subspan(0, 24));
  for (const FileKind& kind : kFileKinds) {
    if (text.size() > kind.at && text.substr(kind.at).starts_with(kind.bytes)) {
      return absl::StrCat("it is ", kind.name);
    }
  }
  if (IsOnnx(text)) {
    return "it is an ONNX model: 'belay lower' reads the .pt2 archive that torch.export.save "
           "writes";
  }
  std::string hex = "it begins with";
  for (char byte : text.substr(0, 8)) {
    absl::StrAppend(&hex, " ", absl::Hex(static_cast<unsigned char>(byte), absl::kZeroPad2));
  }
  return hex;
}

}  // namespace belay
