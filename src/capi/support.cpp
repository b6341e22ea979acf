#include "capi/support.h"

#include <algorithm>
#include <cstring>

namespace clasp::capi {

static_assert(static_cast<int>(Code::Internal) == CLASP_INTERNAL);
static_assert(static_cast<int>(Code::TooLarge) == CLASP_TOO_LARGE);

clasp_code report(const Status& status, clasp_error* error) noexcept {
    const auto code = static_cast<clasp_code>(status.code());
    if (error == nullptr) return code;
    error->code = code;
    // Out of memory and internal errors come without text, because making one could fail again.
    const std::string_view text = !status.ok() && status.message().empty()
                                      ? code_name(status.code())
                                      : std::string_view(status.message());
    constexpr std::string_view kCut = "...";
    const std::size_t room = sizeof error->message - 1;
    const std::size_t length = std::min(text.size(), room);
    std::memcpy(error->message, text.data(), length);
    if (text.size() > room) std::memcpy(error->message + room - kCut.size(), kCut.data(), kCut.size());
    error->message[length] = '\0';
    return code;
}

}  // namespace clasp::capi

using namespace clasp;  // NOLINT(google-build-using-namespace): only the C functions below follow

const char* clasp_code_name(clasp_code code) {
    return code_name(static_cast<Code>(code)).data();
}

const char* clasp_version(void) {
    return CLASP_VERSION_STRING;
}

clasp_code clasp_pool_create(size_t n_threads, clasp_pool** pool, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (pool == nullptr) return capi::null_argument("pool");
        *pool = nullptr;
        constexpr std::size_t kMaxThreads = 1024;
        if (n_threads > kMaxThreads) {
            return {Code::InvalidArgument,
                    "n_threads is " + std::to_string(n_threads) + ", the limit is 1024"};
        }
        *pool = new clasp_pool(n_threads);
        return ok_status();
    });
}

void clasp_pool_destroy(clasp_pool* pool) {
    delete pool;
}
