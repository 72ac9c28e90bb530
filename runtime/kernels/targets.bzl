"""Instruction sets that kernels are compiled for, where they are not all that Highway is asked for."""

# For kernels that do not multiply bfloat16. What Zen 4 and Sapphire Rapids have beyond Ice Lake that a kernel could use are dot
# products of bfloat16 and arithmetic of float16. Without them one version, AVX3_DL, serves the three: a third less to compile, and
# as much less code in applications. The flags come behind the -D of @highway, which is for all; builds for fewer instruction sets
# keep theirs.
COPTS_WITHOUT_BFLOAT16 = select({
    "//third_party/highway:x86_up_to_avx2": [],
    "//third_party/highway:x86_zen4": [],
    "@platforms//cpu:x86_64": [
        "-UHWY_DISABLED_TARGETS",
        "'-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3|HWY_AVX3_ZEN4|HWY_AVX3_SPR)'",
    ],
    "//conditions:default": [],
})
