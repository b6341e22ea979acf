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

# OpenMP is off: its runtime would bring a second set of threads beside ggml's own pool, which the
# engine shares between vision tower and decoder, and the thread sanitizer cannot see its barriers.
# Static and position independent: one program without library paths, usable inside shared objects.
# The multimodal library is the oracle of the tests; llama-common and the tools are left out.
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
    -DLLAMA_BUILD_MTMD=ON
    -DLLAMA_OPENSSL=OFF
    -DLLAMA_SUBPROCESS=OFF
    -DMTMD_VIDEO=OFF
    -DCMAKE_INSTALL_LIBDIR=lib
)
# What is built beyond that: libraries only, or the two command-line tools of the speed comparison.
LLAMA_LIBRARY_OPTIONS=(-DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TOOLS=OFF)
LLAMA_TOOL_OPTIONS=(-DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON)
