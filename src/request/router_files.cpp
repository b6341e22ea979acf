#include "request/router_files.h"

#include "base/file.h"

namespace clasp::request {

Result<RouterOptions> read_router_files(const RouterSettings& settings) {
    RouterOptions options;
    if (settings.kind == "rules") options.kind = RouterKind::Rules;
    if (settings.kind == "llm") options.kind = RouterKind::Llm;
    if (!settings.taxonomy.empty()) {
        CLASP_ASSIGN_OR_RETURN(options.taxonomy_json, base::read_file(settings.taxonomy, kMaxFileBytes));
    }
    if (!settings.classifier.empty()) {
        CLASP_ASSIGN_OR_RETURN(options.model_bytes, base::read_file(settings.classifier, kMaxFileBytes));
    }
    return options;
}

}  // namespace clasp::request
