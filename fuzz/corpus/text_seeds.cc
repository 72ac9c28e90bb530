#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/saved_programs.h"
#include "fuzz/corpus/seeds.h"
#include "runtime/core/npy.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/tokenizer/write_tokenizer_tables.h"

namespace belay::fuzz {
namespace {

constexpr std::string_view kExpressions[] = {
    "2*s0 + 1",
    "-(s0 - s1)",
    "(s0 + 1)**2 - s0**2 - 2*s0 - 1",
    "(s0 + s1)**(-2)",
    "Add(Symbol('s77', positive=True, integer=True), Integer(-1))",
    "Mul(Integer(2), Symbol('u0', integer=True), Pow(Symbol('s1', integer=True), Integer(2)))",
    "And(s0 > 1, Or(s1 < 2, Not(Foo(s2))))",
    "Equality(Symbol('u0'), Integer(4))",
    "FloorDiv(-9223372036854775808, -1)",
    "FloorDiv(FloorDiv(s, 2), 3)",
    "CeilDiv(s0, s1)",
    "Mod(s0, 4)",
    "PythonMod(-7, 3)",
    "Max(s0, Min(s1, 3), 2)",
    "Where(Eq(s0, 1), s1, 0)",
    "Float('0.5', precision=53)",
    "FloatPow(s, 0.5)",
    "TruncToInt(IntTrueDiv(s0, 3))",
    "CeilToInt(FloatTrueDiv(s, t))",
    "BitwiseFn_bitwise_and(s, t)",
    "s0//2 + s1**3 - 0.5*s2",
    "-inf*s0",
    "9223372036854775807*2",
    "99999999999999999999",
    "((((((((s0))))))))",
    "s0 >= 1",
    "'s0'",
    "",
};

constexpr std::string_view kSchemas[] = {
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::relu_(Tensor(a!) self) -> Tensor(a!)",
    "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
    "padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
    "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0) -> "
    "Tensor",
    "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
    "aten::to.x(Tensor self, MemoryFormat memory_format=contiguous_format, ScalarType t=long, "
    "float f=-1.5e3, bool[3] b=[True, False, True], float[]? g=None, Generator? h=None) -> Tensor",
    "aten::sym_size.int(Tensor self, int dim) -> SymInt",
    "ns::op(Tensor a",
    "",
};

constexpr std::string_view kPrograms[] = {
    R"(program edge {
  ranges { s77: [1, 512] u0: [-inf, inf] }
  hints { s77: 4 }
  in_spec "[1, {\"type\": \"builtins.tuple\"}]"
  out_spec "[1, null]"
  guards {
    "L['x'].size()[0] <= 512"
  }
  constants {
    state "fc.tied": f32[32,10]{strides=[1,32]}
    state "fc.weight": f32[10,32] shares state "fc.tied"
    constant "scale": f32[]
  }
  graph(%p_fc_weight: f32[10,32]{grad} parameter "fc.weight",
        %b_scale: f32[] buffer "scale" nonpersistent,
        %x: f32[s77,32] user_input,
        %n: const(3) constant_input) {
    %permute: f32[32,10]{strides=[1,32]} = aten.permute.default(%p_fc_weight, [1,0])  @"m.py":12 module="fc" origin="linear@1397" handle=3 tag="t0"
    %mm: f32[s77,10] = edge.aten.mm.default(%x, %permute)  @"m.py":12
    %size: symint(s77) = aten.sym_size.int(%x, 0)
    [%a: f32[s77,4], %b: f32[s77,6]] = aten.split_with_sizes.default(%mm, [4,6], 1) name="split"
    aten._assert_scalar.default(%size, "is \"positive\"") name="check"
    %cond: f32[s77,4] = higher_order.cond(true, graph#1, graph#2, [%a])
    %custom: bf16[2*s77 + 1]{device=cuda:1} = zoo.scaled_swish.default(self=%cond, scale=2.5, mode="fast")
    return (%b_scale buffer_mutation "scale", %mm user_output, 3 user_output, none user_output, [%a,%b] user_output)
  }
  graph true_graph_0(%x: f32[s77,4]) {
    return (%x)
  }
  graph false_graph_0(%x: f32[s77,4]) {
    %neg: f32[s77,4] = aten.neg.default(%x)
    return (%neg)
  }
}
)",
    R"(program edge {
  constants {
  }
  graph(%x: f32[2,3] user_input) {
    %d: f32[2,3] = higher_order.executorch_call_delegate(module#0, %x)
    return (%d user_output)
  }
  module#0 backend "demo" specs ["key": "value"] {
    blob "YWJj"
    buffer "AAEC"
    data "key": buffer#0 align 16 layout f32[2,3] order [0,1]
    external "tag" data "other": buffer#0 align 16
    handles 1: [2,3]
    program edge {
      constants {
      }
      graph(%x: f32[2,3] user_input) {
        %r: f32[2,3] = edge.aten.relu.default(%x)
        return (%r user_output)
      }
    }
  }
}
)",
    R"(program aten {
  graph(%x: f32[2] user_input, %o: object("cls") custom_object "o", %t: token token, %"a name": i64[] user_input) {
    // a comment
    %r: c64[2] = some.op.default(%x, (1+2j), dtype:f32, format:channels_last, layout:strided, device:cpu, {"k": -2.5e3}, op:"aten.add.Tensor", [1,[2,none]], inf, nan, -7)
    return (%r user_output)
  }
}
)", "program aten {\n  graph() {\n    return ()\n  }\n}\n", "program", "",
};

constexpr std::string_view kCommandLines[] = {
    "lower\nm.pt2\n-o\nm.belay\n--method\na=a.pt2\n--backend\ndemo,null\n--compile-spec\ndemo:k=v\n"
    "--threads\n4\n--json",
    "run\nm.belay\n--input\nx.npy\n--input\ny.npy\n--output-dir\nout\n--repeat\n3",
    "run\nm.belay\n--random-inputs\n7\n--sequence\na\nb\n--engine=reference",
    "inspect\nm.belay\n--size\n--verify\n--graph\n--json",
    "verify\nm.pt2\nm.belay\n--atol\n1e-5\n--rtol\n1e-3\n--calls\n2",
    "verify\nm.belay\n--reference\nm.pt2",
    "bench\nm.belay\n--seconds\n0.5\n--threads\n2",
    "strip\nm.belay\n-o\nn.belay",
    "stress\nm.belay\n--mutations\n20000\n--seed\n7\n--first\n3\n--write\nw",
    "keygen\nrelease",
    "sign\nm.belay\n--key\nrelease.key",
    "verify-signature\nm.belay\n--key\na.pub\n--key\nb.pub",
    "ops\n--json",
    "--help",
    "lower\n--help",
    "fly",
    "",
};

constexpr std::string_view kRecipes[] = {
    R"({"recipe": "weights-int4", "group_size": 64, "symmetric": false, "scale": "range",)"
    R"( "rules": [{"module": "layers.*.mlp", "recipe": "weights-int8"},)"
    R"( {"op": "linear", "node": "addmm_?", "recipe": "none"}]})",
    R"({"recipe": "int8-static", "observer": "percentile", "percentile": 99.9})",
    R"({"recipe": "int9", "bits": 4, "group_size": 33, "rules": [{}, 7, {"op": ""}]})",
    R"({"rules": [{"module": "****a*b*", "recipe": "8da4w+embeddings-int4"}]})",
    "",
    R"({"recipe": "int8-static+embeddings-int8", "observer": "moving-average",)"
    R"( "bias_correction": false, "equalization": "all", "quantize_io": true})",
    R"({"recipe": "int8-dynamic+embeddings-int4", "group_size": 128, "scale": "squared-error",)"
    R"( "error_feedback": true, "activation_scaling": true, "rules":)"
    R"( [{"op": "convolution", "module": "\u0001*", "recipe": "weights-bf16"}]})",
};

template <size_t n>
void AddTexts(Seeds& seeds, const std::string& corpus, const std::string_view (&texts)[n]) {
  for (size_t i = 0; i < n; ++i) {
    seeds.push_back({corpus, absl::StrCat("text_", i), std::string(texts[i])});
  }
}

// A text, a zero byte, and a tokenizer.
using std::string_view_literals::operator""sv;  // keeps the zero byte
constexpr std::string_view kTokenizers[] = {
    "aab b"
    "\0"
    R"json({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"<0x20>":3},"merges":["a b"],"byte_fallback":true},
"added_tokens":[{"id":4,"content":"aa","lstrip":true,"rstrip":true,"single_word":true,"normalized":true}]})json"sv,
    "Don't  stop\n12 3"
    "\0"
    R"json({"model":{"type":"BPE","vocab":{"D":0,"o":1},"merges":[["D","o"]],"ignore_merges":true},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{N}{1,3}|\\s+(?!\\S)"},
"behavior":"Isolated"},{"type":"ByteLevel","add_prefix_space":true}]},"decoder":{"type":"ByteLevel"},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"s"}},{"Sequence":{"id":"A"}}],
"special_tokens":{"s":{"ids":[1]}}}})json"sv,
    "caf\xC3\xA9 \xE4\xBD\xA0"
    "\0"
    R"json({"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},
"model":{"type":"WordPiece","vocab":{"u":0,"caf":1,"##e":2},"unk_token":"u"},"decoder":{"type":"WordPiece"},
"post_processor":{"type":"BertProcessing","cls":["u",0],"sep":["u",0]}})json"sv,
    "x y"
    "\0"
    R"json({"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Strip"},{"type":"Prepend","prepend":" "},
{"type":"Replace","pattern":{"String":" "},"content":"_"}]},"pre_tokenizer":{"type":"Metaspace","replacement":"_"},
"model":{"type":"Unigram","vocab":[["u",0],["_",-1],["x",-2.5]],"unk_id":0},"decoder":{"type":"Sequence","decoders":[
{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0},
{"type":"Metaspace","replacement":"_"}]}})json"sv,
};

// The first tokenizer as tables.
void AddTokenizerTables(Seeds& seeds) {
  const std::string_view seed = kTokenizers[0];
  const size_t json = seed.find('\0') + 1;
  const auto tables = llm::WriteTokenizerTables(seed.substr(json));
  if (tables.ok()) {
    seeds.push_back({"tokenizer_json", "tables", absl::StrCat(seed.substr(0, json), *tables)});
  }
}

// Messages, a zero byte, and a chat template.
constexpr std::string_view kChatTemplates[] = {
    R"json([{"role":"user","content":"Hi"}])json"
    "\0"
    R"json({{ bos_token }}{%- for m in messages %}
{%- if loop.first and m['role'] != 'user' %}{{ raise_exception('role ' ~ m.role) }}{% endif -%}
<{{ m.role }}>{{ m.content | trim | replace('a', 'b') }}{{ eos_token if not loop.last else '' }}{% endfor %})json"sv,
    R"json([{"role":"system","content":"a\nb"},{"role":"user","content":[{"type":"text","text":"é"}]}])json"
    "\0"
    R"json({% macro m(x, y=2) -%}{{ x | tojson(indent=y) }}{%- endmacro %}{% set n = namespace(i=0, l=[]) %}
{%- for k, v in {'a': 1, 'b': [2.5, none]}.items() if k is string %}{% set n.i = n.i + loop.index %}{% set n.l = n.l + [v] %}{% endfor %}
{{- m(n.l) }}{{ n.i ** 2 // 3 }}{{ messages[::-1] | selectattr('role', 'equalto', 'user') | map(attribute='content') | list }})json"sv,
    R"json([{"role":"user","content":"<think>x</think> y"}])json"
    "\0"
    R"json({%+ set t %}{% filter upper %}{{ messages[0].content.split('</think>')[-1].strip() }}{% endfilter %}{% endset %}
{# c #}{% raw %}{{ }}{% endraw %}{{ strftime_now('%Y-%m-%d') ~ t[0:2] }}{% for i in range(9) %}{% if i is odd %}{% continue %}
{% elif i > 5 %}{% break %}{% endif %}{{ loop.cycle('\u00e9', "b\x41") | title }}{% else %}{% endfor %}
{{ [3, 1, 2] | sort(reverse=true) | join(', ') }}{{ 'a{}'.format(1) }}{{ missing | default('d', true) | indent(2) }})json"sv,
    R"json({"chat_template": [{"name": "default", "template": "{{ bos_token }}"}], "bos_token": {"content": "<s>"},
"model_max_length": 1000000000000000019884624838656, "x": [1.5e3, -1, true, null, "\u00e9\""]})json"sv,
    R"json([])json"
    "\0"
    R"json({% set n = namespace(s='ab', x=[1]) %}{% for i in range(40) %}{% set n.s = n.s + n.s %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }})json"sv,
};

// --- .npy ---

std::string Npy(DType dtype, const Sizes& sizes, char fill) {
  std::vector<char> elements(
      static_cast<size_t>(NumElements(sizes).value_or(0)) * DTypeSize(dtype) + 1, fill);
  const absl::StatusOr<std::string> bytes =
      NpyBytes(TensorView::Contiguous(dtype, sizes, elements.data()));
  ABSL_CHECK(bytes.ok());
  return *bytes;
}

// With an arbitrary header.
std::string NpyOf(std::string_view header, size_t bytes, char major = 1) {
  std::string file("\x93NUMPY", 6);
  file.push_back(major);
  file.push_back('\0');
  std::string text(header);
  text.push_back('\n');
  file.push_back(static_cast<char>(text.size() & 0xff));
  file.push_back(static_cast<char>(text.size() >> 8));
  if (major > 1) file += std::string(2, '\0');
  return file + text + std::string(bytes, '\1');
}

// Encodes a file for the target sample_inputs: a presence flag, its length, its bytes.
std::string Given(const std::string& file) {
  std::string bytes(1, '\0');
  bytes.push_back(static_cast<char>(file.size() & 0xff));
  bytes.push_back(static_cast<char>(file.size() >> 8));
  return bytes + file;
}

void AddArrays(Seeds& seeds) {
  const auto add = [&](std::string name, std::string bytes) {
    seeds.push_back({"npy", std::move(name), std::move(bytes)});
  };
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"f32", DType::kFloat32}, {"f64", DType::kFloat64},   {"f16", DType::kFloat16},
      {"i64", DType::kInt64},   {"u8", DType::kUint8},      {"b8", DType::kBool},
      {"u16", DType::kUint16},  {"c64", DType::kComplex64},
  };
  for (const auto& [name, dtype] : kTypes) add(std::string(name), Npy(dtype, {2, 3}, '\1'));
  add("scalar", Npy(DType::kFloat32, {}, '\0'));
  add("no_elements", Npy(DType::kInt64, {0, 3}, '\0'));
  add("fortran", NpyOf("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24));
  add("version_2", NpyOf("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", 4, 2));
  add("big_endian", NpyOf("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8));
  add("huge",
      NpyOf("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8));
  add("deep",
      NpyOf("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
            "1,1,1), }",
            4));
  add("records", NpyOf("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4));
  add("wrong_bool", NpyOf("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", 0) + "\2");

  const auto call = [](const Sizes& x, const Sizes& y) {
    return Given(Npy(DType::kFloat32, x, '\0')) + Given(Npy(DType::kFloat32, y, '\0')) +
           Given(Npy(DType::kInt64, {}, '\0')) + Given(Npy(DType::kFloat32, {2, 3}, '\0')) +
           Given(Npy(DType::kFloat64, {}, '\0'));
  };
  seeds.push_back({"sample_inputs", "right", call({2, 3}, {2, 3}) + call({4, 3}, {4, 3})});
  seeds.push_back({"sample_inputs", "unequal", call({2, 3}, {3, 3})});
  seeds.push_back({"sample_inputs", "too_large", call({5, 3}, {5, 3})});
  seeds.push_back({"sample_inputs", "wrong_rank", call({2, 3, 1}, {2, 3})});
  seeds.push_back({"sample_inputs", "missing", "\xff\xff\xff\xff\xff"});
}

// Adds the programs in text form that verify, in one file with their bytes.
void AddSavedPrograms(Seeds& seeds) {
  const auto ops = exir::CreateStandardOps();
  if (!ops.ok()) return;
  exir::MethodPrograms methods;
  for (std::string_view text : kPrograms) {
    absl::StatusOr<exir::ExportedProgram> program = exir::ParseProgram(text, **ops);
    if (!program.ok() || !exir::Verify(*program).ok()) continue;
    methods.emplace_back(absl::StrCat("method_", methods.size()), *std::move(program));
  }
  seeds.push_back({"saved_programs", "methods", exir::SavePrograms(methods).ToString()});
}

}  // namespace

void AddTextSeeds(Seeds& seeds) {
  AddTexts(seeds, "sym_expr", kExpressions);
  AddTexts(seeds, "recipe_file", kRecipes);
  AddTexts(seeds, "schema_string", kSchemas);
  AddTexts(seeds, "text_form", kPrograms);
  AddSavedPrograms(seeds);
  AddTexts(seeds, "command_line", kCommandLines);
  AddTexts(seeds, "tokenizer_json", kTokenizers);
  AddTokenizerTables(seeds);
  AddTexts(seeds, "chat_template", kChatTemplates);
  AddArrays(seeds);
}

}  // namespace belay::fuzz
