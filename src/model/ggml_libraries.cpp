#include "model/ggml_libraries.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "ggml-backend.h"
#include "ggml.h"
#include "llama.h"

namespace clasp::model {

namespace {

namespace fs = std::filesystem;

// The file that holds a function. The loader knows the program itself by the name that it was started with.
fs::path file_of(const void* function) {
    Dl_info info = {};
    if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
    const fs::path name = info.dli_fname;
    std::error_code ignored;
    return fs::canonical(name.has_parent_path() ? name : fs::path("/proc/self/exe"), ignored);
}

// Upstream marks what is built between releases, and what others build from a release, as "-dev".
std::string_view release_of(std::string_view version) {
    constexpr std::string_view kSuffix = "-dev";
    if (version.ends_with(kSuffix)) version.remove_suffix(kSuffix.size());
    return version;
}

std::string described(const LibraryVersions& versions) {
    return versions.llama + " with ggml " + versions.ggml + " (" + versions.ggml_commit + ")";
}

Status load_modules() {
    CLASP_RETURN_IF_ERROR(check_versions(compiled_versions(), loaded_versions()));
    // The folder of ggml only: left to itself it would load modules from the current folder too.
    const fs::path folder =
        file_of(reinterpret_cast<const void*>(&ggml_backend_load_all_from_path)).parent_path();
    if (!folder.empty()) ggml_backend_load_all_from_path(folder.c_str());
    if (ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == nullptr) {
        return {Code::Unavailable,
                "ggml offers no CPU backend for this processor; its modules are looked for in " +
                    folder.string()};
    }
    return ok_status();
}

}  // namespace

LibraryVersions compiled_versions() {
    return {.llama = CLASP_LLAMA_VERSION, .ggml = CLASP_GGML_VERSION, .ggml_commit = CLASP_GGML_COMMIT};
}

LibraryVersions loaded_versions() {
    return {.llama = llama_version(), .ggml = ggml_version(), .ggml_commit = ggml_commit()};
}

Status check_versions(const LibraryVersions& compiled, const LibraryVersions& loaded) {
    if (release_of(compiled.llama) == release_of(loaded.llama) &&
        release_of(compiled.ggml) == release_of(loaded.ggml) && compiled.ggml_commit == loaded.ggml_commit) {
        return ok_status();
    }
    return {Code::Unavailable, "this program was compiled for llama.cpp " + described(compiled) +
                                   ", but the libraries that it found are " + described(loaded)};
}

Status load_ggml() {
    static const Status status = load_modules();
    return status;
}

std::string cpu_backend_file() {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (cpu == nullptr) return {};
    return file_of(ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu),
                                                     "ggml_backend_set_n_threads"))
        .string();
}

}  // namespace clasp::model
