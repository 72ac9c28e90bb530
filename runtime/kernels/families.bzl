"""Locations of the kernel families, which belay_runtime (bazel/runtime.bzl) recompiles for an application."""

# A family: its target, the file with its table, and the function of namespace belay that returns the table.
def _family(target, source, function):
    return struct(
        target = target,
        source = target.split(":")[0] + ":" + source,
        file = target.split(":")[0][len("//"):] + "/" + source,
        function = function,
    )

# In the order of standard_kernels.cc; kernel_families_test compares both.
HIGHWAY_FAMILIES = [
    _family("//runtime/kernels/conv", "conv_kernels.cc", "ConvHighwayKernels"),
    _family("//runtime/kernels/creation", "creation_kernels.cc", "CreationHighwayKernels"),
    _family("//runtime/kernels/distance", "distance_kernels.cc", "DistanceHighwayKernels"),
    _family("//runtime/kernels/fft", "fft_kernels.cc", "FftHighwayKernels"),
    _family("//runtime/kernels/gemm", "gemm_kernels.cc", "GemmKernels"),
    _family("//runtime/kernels/index", "index_kernels.cc", "IndexHighwayKernels"),
    _family("//runtime/kernels/gemm:integer_gemm", "integer_kernels.cc", "IntegerGemmKernels"),
    _family("//runtime/kernels/gemm:mixed_gemm", "mixed_kernels.cc", "MixedGemmKernels"),
    _family("//runtime/kernels/movement", "movement_kernels.cc", "MovementKernels"),
    _family("//runtime/kernels/norm", "norm_kernels.cc", "NormHighwayKernels"),
    _family("//runtime/kernels/pointwise", "pointwise_kernels.cc", "PointwiseKernels"),
    _family("//runtime/kernels/pool", "pool_kernels.cc", "PoolHighwayKernels"),
    _family("//runtime/kernels/quantize", "quantize_kernels.cc", "QuantizeHighwayKernels"),
    _family("//runtime/kernels/quantize", "parameters_kernels.cc", "QuantizationParametersHighwayKernels"),
    _family("//runtime/kernels/quantize:quantized_embedding", "quantized_embedding.cc", "QuantizedEmbeddingHighwayKernels"),
    _family("//runtime/kernels/reduce", "reduce_kernels.cc", "ReduceHighwayKernels"),
    _family("//runtime/kernels/resize", "resize_kernels.cc", "ResizeHighwayKernels"),
    _family("//runtime/kernels/scan", "scan_kernels.cc", "ScanHighwayKernels"),
    _family("//runtime/kernels/select", "select_kernels.cc", "SelectHighwayKernels"),
    _family("//runtime/kernels/softmax", "softmax_kernels.cc", "SoftmaxHighwayKernels"),
    _family("//runtime/kernels/sort", "sort_kernels.cc", "SortHighwayKernels"),
]

# Families of the CPU backend, of namespace belay::cpu, in the order in which cpu_kernels.cc adds them.
CPU_FAMILIES = [
    _family("//backends/cpu/kernels:" + file, file + ".cc", function)
    for file, function in [
        ("linear", "LinearKernels"),
        ("bfloat16_products", "BFloat16ProductKernels"),
        ("weight_only_linear", "WeightOnlyLinearKernels"),
        ("dynamic_quantized_linear", "DynamicQuantizedLinearKernels"),
        ("conv2d", "Conv2dKernels"),
        ("conv2d_chain", "Conv2dChainKernels"),
        ("convolution_volumes", "ConvolutionKernels"),
        ("winograd_conv2d", "WinogradConv2dKernels"),
        ("max_pool2d", "MaxPool2dKernels"),
        ("attention", "AttentionKernels"),
        ("token_rows", "TokenRowKernels"),
        ("pointwise", "PointwiseGroupKernels"),
        ("quantized_linear", "QuantizedLinearKernels"),
        ("quantized_conv2d", "QuantizedConv2dKernels"),
        ("quantized_pointwise", "QuantizedPointwiseKernels"),
    ]
]

def family_list(name, families):
    """Writes <name>.inc with one BELAY_KERNEL_FAMILY(function, "file") per family; the includer defines the macro.

    Args:
      name: name of the list.
      families: families, as above.
    """
    native.genrule(
        name = name,
        outs = [name + ".inc"],
        cmd = "(" + " ".join([
            "echo 'BELAY_KERNEL_FAMILY(%s, \"%s\")';" % (family.function, family.file)
            for family in families
        ]) + ") > $@",
    )
