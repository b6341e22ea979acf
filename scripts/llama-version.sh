# The one place that pins llama.cpp; sourced. docs/dependencies.md says how to move to another release.

LLAMA_VERSION=0.5.0
GGML_VERSION=0.25.1

# The release is carried by an npm package as a git bundle. The package is taken from whatever
# registry npm is configured for; its SHA-512 is the registry's integrity value in hexadecimal.
LLAMA_PACKAGE=node-llama-cpp
LLAMA_PACKAGE_VERSION=3.22.1
LLAMA_PACKAGE_SHA512=6e5b488a9b9699cd76dc7eed30880318a4ac4ab866865418795502e3c5d38d55bb5c624988927209d95333343f2e25a83e4183a5c2f816f883a60c3ba9f4e20f
LLAMA_BUNDLE=package/llama/gitRelease.bundle
LLAMA_COMMIT=de3ff815ea7d559ee917f063901b8986f038abc6
LLAMA_TREE=fd570ef54b10ec5fecb739e7e04c8ce44a6f415a

# The same release compiled, by the same publisher: libraries for a system, with a CPU module for every
# kind of processor, of which ggml takes the best at run time.
LLAMA_COMPILED_GLIBC=2.34
LLAMA_COMPILED_GGML_COMMIT=0ad4a86
# Left in the package. AMX: as GCC compiles ggml's tile code, it has met illegal instructions on Sapphire
# Rapids; such processors take the next best module. The others are not for us.
LLAMA_COMPILED_LEFT_OUT=(libggml-cpu-sapphirerapids.so libllama-common.so)

# llama_compiled_package MACHINE: sets what the package for it is; fails when there is none.
llama_compiled_package() {
    case $1 in
        x86_64)
            LLAMA_COMPILED_PACKAGE=@node-llama-cpp/linux-x64
            LLAMA_COMPILED_SIZE="11 MB"
            LLAMA_COMPILED_SHA512=e6e0820cda9608d7da026f1a47f533c5ba381c1a4a80d17dd640873dea4a86032057638099ab6879f6ce94c8a1b2a0a21f639ddf913f7941d00856df44126e3a
            ;;
        aarch64)
            LLAMA_COMPILED_PACKAGE=@node-llama-cpp/linux-arm64
            LLAMA_COMPILED_SIZE="7 MB"
            LLAMA_COMPILED_SHA512=5beee768a0975fdfde1238c59914bcbefc7dd50c8b5c36de1717b165cddb87f3ed40005982644bdc2d00b586179f86064e3ff7428af8956667dada636453cb75
            ;;
        *) return 1 ;;
    esac
}

# How it is built from source. OpenMP is off: its runtime would bring a second set of threads beside ggml's own pool, which the
# engine shares between vision tower and decoder, and the thread sanitizer cannot see its barriers.
# Static and position independent: one program without library paths, usable inside shared objects.
LLAMA_OPTIONS=(
    -DCMAKE_BUILD_TYPE=Release
    -DBUILD_SHARED_LIBS=OFF
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON
    -DGGML_NATIVE=ON
    -DGGML_OPENMP=OFF
    -DGGML_LLAMAFILE=ON
    -DGGML_CCACHE=OFF
    -DLLAMA_BUILD_IS_DEV=OFF
    -DLLAMA_BUILD_NUMBER=1
    -DLLAMA_BUILD_COMMIT="${LLAMA_TREE:0:12}"
    -DLLAMA_BUILD_TESTS=OFF
    -DLLAMA_BUILD_EXAMPLES=OFF
    -DLLAMA_BUILD_SERVER=OFF
    -DLLAMA_BUILD_APP=OFF
    -DLLAMA_BUILD_UI=OFF
    -DLLAMA_USE_PREBUILT_UI=OFF
    -DLLAMA_OPENSSL=OFF
    -DLLAMA_SUBPROCESS=OFF
    -DMTMD_VIDEO=OFF
    -DCMAKE_INSTALL_LIBDIR=lib
)
# Parts of "native" that stay off on x86. AMX: as GCC 12 compiles ggml's tile code, its first tile load is an
# illegal instruction (Sapphire Rapids). AVX512-FP16: ggml then sums products of F16 matrices in half
# precision, which costs two to three digits.
LLAMA_X86_FLAGS=(-mno-amx-tile -mno-amx-int8 -mno-amx-bf16 -mno-avx512fp16)
# Instead of "native", for comparisons on processors that have more.
LLAMA_AVX2_OPTIONS=(
    -DGGML_NATIVE=OFF -DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON
)
# What is built: libraries, the multimodal library (the oracle of the tests) or the tools that speed is compared
# with, which read clips through the program ffmpeg.
LLAMA_LIBRARY_OPTIONS=(-DLLAMA_BUILD_MTMD=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TOOLS=OFF)
# A static library then waits for nothing that it does not contain: neither ggml nor libllama is compiled for it.
LLAMA_MTMD_OPTIONS=(-DLLAMA_BUILD_MTMD=ON -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TOOLS=OFF -DCMAKE_OPTIMIZE_DEPENDENCIES=ON)
# Parts of ggml that take the place of compiled ones, so they bear their names.
LLAMA_INSTRUMENTED_OPTIONS=(
    "${LLAMA_LIBRARY_OPTIONS[@]}"
    -DBUILD_SHARED_LIBS=ON
    -DGGML_BACKEND_DL=ON
    -DGGML_NATIVE=OFF
    -DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON
    "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"
)
LLAMA_TOOLS=(llama-bench llama-mtmd-cli llama-server)
LLAMA_TOOL_OPTIONS=(-DLLAMA_BUILD_MTMD=ON -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON -DLLAMA_SUBPROCESS=ON -DMTMD_VIDEO=ON)
