"""Locations of the CPU backend's kernel families, as in //runtime/kernels:families.bzl."""

load("//runtime/kernels:families.bzl", "kernel_family")

# Of namespace belay::cpu, in the order in which cpu_kernels.cc adds them.
CPU_FAMILIES = [
    kernel_family("//backends/cpu/kernels:" + file, file + ".cc", function)
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
        ("packed_embedding", "PackedEmbeddingKernels"),
        ("pointwise", "PointwiseGroupKernels"),
        ("quantized_linear", "QuantizedLinearKernels"),
        ("quantized_conv2d", "QuantizedConv2dKernels"),
        ("quantized_pointwise", "QuantizedPointwiseKernels"),
    ]
]
