"""Instruction sets for kernels that are compiled for fewer of them than Highway's default."""

# For kernels that do not multiply bfloat16. The only relevant instructions of Zen 4 and Sapphire Rapids that Ice Lake lacks are
# bfloat16 dot products and float16 arithmetic. Without them one version, AVX3_DL, serves all three CPUs: a third less to compile,
# and as much less code in applications. These flags follow the -D flag of @highway, which applies to all kernels. Builds for fewer
# instruction sets keep their flags.
COPTS_WITHOUT_BFLOAT16 = select({
    "//third_party/highway:x86_up_to_avx2": [],
    "//third_party/highway:x86_zen4": [],
    "@platforms//cpu:x86_64": [
        "-UHWY_DISABLED_TARGETS",
        "'-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3|HWY_AVX3_ZEN4|HWY_AVX3_SPR)'",
    ],
    "//conditions:default": [],
})
