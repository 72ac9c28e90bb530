// `.npy` files, as inputs of a method that takes f32[1..4,3].
#include <string>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"
#include "fuzz/negative/raw_bytes.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNewer = absl::StatusCode::kUnimplemented;
constexpr auto kRange = absl::StatusCode::kOutOfRange;

constexpr std::string_view kMagic("\x93NUMPY", 6);

std::string Npy(const std::string& header, size_t data_bytes) {
  std::string file(kMagic);
  file += std::string("\1\0", 2);
  file.push_back(static_cast<char>(header.size() & 0xff));
  file.push_back(static_cast<char>(header.size() >> 8));
  return file + header + std::string(data_bytes, '\0');
}
std::string Shape(const std::string& shape, size_t data_bytes, const std::string& descr = "<f4") {
  return Npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n",
             data_bytes);
}

constexpr NegativeBytes kArrays[] = {
    {"C1_empty", "no bytes", kInvalid, "the file does not begin with",
     [] { return std::string(); }},
    {"C1_ends_in_version", "only the magic", kInvalid, "the file ends in the version",
     [] { return std::string(kMagic); }},
    {"C1_ends_in_length", "no length of the header", kInvalid,
     "the file ends in the length of the header",
     [] { return std::string(kMagic) + std::string("\1\0\x10", 3); }},
    {"C2_header_beyond_file", "a header of more bytes than there are", kInvalid,
     "a header of 200 bytes where 10 are left",
     [] { return std::string(kMagic) + std::string("\1\0\xc8\0", 4) + "0123456789"; }},
    {"C2_header_of_4_GiB", "a header of 2^32 - 1 bytes", kInvalid,
     "a header of 4294967295 bytes, limit 10000",
     [] { return std::string(kMagic) + std::string("\2\0\xff\xff\xff\xff", 6) + "{}"; }},
    {"C7_version_9", "version 9.0", kNewer, "unsupported .npy: version 9.0",
     [] { return std::string(kMagic) + std::string("\x09\0\2\0{}", 6); }},
    {"C8_wrong_magic", "another magic", kInvalid, "the file does not begin with",
     [] { return "\x93NUMPI" + Shape("2, 3", 24).substr(6); }},
    {"T1_descr", "a header without a type", kInvalid, "header lacks descr",
     [] { return Npy("{'fortran_order': False, 'shape': (2, 3)}", 24); }},
    {"T1_shape", "a header without a shape", kInvalid, "header lacks descr, fortran_order or shape",
     [] { return Npy("{'descr': '<f4', 'fortran_order': False}", 24); }},
    {"T2_string_without_end", "a type without a closing quote", kInvalid,
     "unterminated string in the header", [] { return Npy("{'descr': '<f4", 24); }},
    {"T3_type", "an unknown type", kNewer, "unsupported .npy: type '<x4'",
     [] { return Shape("2, 3", 24, "<x4"); }},
    {"T3_big_endian", "big endian numbers", kNewer, "is big endian",
     [] { return Shape("2, 3", 24, ">f4"); }},
    {"T3_object", "pickled objects", kNewer, "unsupported .npy: type '|O'",
     [] { return Shape("2, 3", 24, "|O"); }},
    {"T3_structure", "a structured type", kNewer, "a structured type",
     [] { return Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", 24); }},
    {"N1_numel_overflow", "2^62 x 4 elements", kInvalid, "is too large",
     [] { return Shape("4611686018427387904, 4", 24); }},
    {"N1_nbytes_overflow", "2^61 elements of 4 bytes", kInvalid, "is too large",
     [] { return Shape("2305843009213693952, 1", 24); }},
    {"N1_size_overflow", "a size of 20 digits", kInvalid, "size is too large",
     [] { return Shape("99999999999999999999, 3", 24); }},
    {"N2_rank_17", "17 dimensions", kInvalid, "more than 16 dimensions",
     [] { return Shape("1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1", 4); }},
    {"N3_size_negative", "a size of -3", kInvalid, "expected a size at",
     [] { return Shape("-3, 3", 24); }},
    {"N5_product_beside_zero", "no elements beside 2^62 x 4", kInvalid, "is too large",
     [] { return Shape("0, 4611686018427387904, 4", 0); }},
    {"N9_above_bound", "5 rows where 4 are the most", kRange, "x",
     [] { return Shape("5, 3", 60); }},
    {"N9_static_size", "4 columns where there must be 3", kInvalid, "x",
     [] { return Shape("2, 4", 32); }},
    {"B1_shape_above_data", "more elements than bytes", kInvalid,
     "needs 24 bytes of elements, the file has 20", [] { return Shape("2, 3", 20); }},
    {"B1_shape_of_1_TiB", "a tensor of 2^40 bytes in a file of 100", kInvalid,
     "of elements, the file has 20", [] { return Shape("274877906944,", 20); }},
    {"B2_bytes_behind", "more bytes than elements", kInvalid,
     "needs 24 bytes of elements, the file has 25", [] { return Shape("2, 3", 25); }},
    {"B2_other_dtype", "ints where floats must be", kInvalid, "x",
     [] { return Shape("2, 3", 24, "<i4"); }},
    {"B2_other_rank", "a vector where a matrix must be", kInvalid, "x",
     [] { return Shape("3,", 12); }},
    {"B3_repeated_key", "a key of the header twice", kInvalid, "unknown or repeated key 'shape'",
     [] { return Npy("{'descr': '<f4', 'shape': (2, 3), 'shape': (2, 3)}", 24); }},
    {"B3_no_tuple", "a shape that is a number", kInvalid, "shape is not a tuple",
     [] { return Shape("6", 24); }},
    {"B3_code", "an expression for a shape", kInvalid, "expected a size at",
     [] { return Shape("__import__('os')", 24); }},
    {"P1_bool_of_2", "a bool that is neither 0 nor 1", kInvalid, "a bool that is neither 0 nor 1",
     [] {
       std::string file = Shape("2, 3", 6, "|b1");
       file.back() = 2;
       return file;
     }},
};

}  // namespace

std::vector<NegativeFile> ArrayFiles() { return FilesOf(kArrays, NegativeReader::kArray, ".npy"); }

}  // namespace belay::fuzz
