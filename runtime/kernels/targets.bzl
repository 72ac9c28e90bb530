"""Instruction sets for kernels that are compiled for fewer of them than Highway's default."""

# The flags follow the -D flag of @highway, which applies to all kernels. Builds for fewer instruction sets keep their flags.
def _without(*targets):
    return select({
        "//third_party/highway:x86_up_to_avx2": [],
        "//third_party/highway:x86_zen4": [],
        "@platforms//cpu:x86_64": [
            "-UHWY_DISABLED_TARGETS",
            "'-DHWY_DISABLED_TARGETS=(%s)'" % "|".join(["HWY_SSSE3", "HWY_AVX3"] + list(targets)),
        ],
        "//conditions:default": [],
    })

# For kernels that do not multiply bfloat16. The only relevant instructions of Zen 4 and Sapphire Rapids that Ice Lake lacks are
# bfloat16 dot products and float16 arithmetic. Without them one version, AVX3_DL, serves all three CPUs: a third less to compile,
# and as much less code in applications.
COPTS_WITHOUT_BFLOAT16 = _without("HWY_AVX3_ZEN4", "HWY_AVX3_SPR")

# For kernels that mostly multiply and add floats, or widened bfloat16: with the same instructions in SSE2 and SSE4. CPUs without AVX2
# use the code for SSE2.
COPTS_OF_FLOAT_PRODUCTS = _without("HWY_SSE4", "HWY_AVX3_ZEN4", "HWY_AVX3_SPR")

# For kernels that multiply bfloat16. Sapphire Rapids uses the code for Zen 4; CPUs with AVX-512 but without bfloat16 use the code for
# AVX2, whose large products convert operands and multiply floats with AVX-512 (packed_gemm.h).
COPTS_OF_BFLOAT16_PRODUCTS = _without("HWY_SSE4", "HWY_AVX3_DL", "HWY_AVX3_SPR")

# For kernels that multiply bfloat16 only on Zen 4.
COPTS_WITHOUT_SAPPHIRE_RAPIDS = _without("HWY_AVX3_SPR")
