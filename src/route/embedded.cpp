#include "route/embedded.h"

// The assembler copies the files into the object as they are: no generated source, no compile time.
#if defined(__APPLE__)
#define CLASP_SECTION ".section __TEXT,__const\n"
#define CLASP_SECTION_END ".text\n"
#define CLASP_SYMBOL(name) "_" name
#define CLASP_HIDDEN ".private_extern "
#else
#define CLASP_SECTION ".pushsection .rodata\n"
#define CLASP_SECTION_END ".popsection\n"
#define CLASP_SYMBOL(name) name
#define CLASP_HIDDEN ".hidden "
#endif

#define CLASP_EMBED(name, file)                                                                     \
    __asm__(CLASP_SECTION ".balign 16\n"                                                          \
            ".globl " CLASP_SYMBOL(#name "_begin") "\n" CLASP_HIDDEN CLASP_SYMBOL(#name "_begin") \
            "\n" CLASP_SYMBOL(#name "_begin") ":\n"                                               \
            ".incbin \"" CLASP_ROUTE_DATA_DIR "/" file "\"\n"                                     \
            ".globl " CLASP_SYMBOL(#name "_end") "\n" CLASP_HIDDEN CLASP_SYMBOL(#name "_end")     \
            "\n" CLASP_SYMBOL(#name "_end") ":\n"                                                 \
            ".byte 0\n" CLASP_SECTION_END); \
    extern "C" {                                                                                    \
    extern const char name##_begin[] __attribute__((visibility("hidden")));                         \
    extern const char name##_end[] __attribute__((visibility("hidden")));                           \
    }

CLASP_EMBED(clasp_route_lexicon, "lexicon.txt")
CLASP_EMBED(clasp_route_taxonomy, "taxonomy.json")
CLASP_EMBED(clasp_route_rules, "rules.json")
CLASP_EMBED(clasp_route_languages, "languages.json")
CLASP_EMBED(clasp_route_model, "router.model")

namespace clasp::route {

std::string_view embedded_lexicon() {
    return {clasp_route_lexicon_begin, clasp_route_lexicon_end};
}
std::string_view embedded_taxonomy() {
    return {clasp_route_taxonomy_begin, clasp_route_taxonomy_end};
}
std::string_view embedded_rules() {
    return {clasp_route_rules_begin, clasp_route_rules_end};
}
std::string_view embedded_languages() {
    return {clasp_route_languages_begin, clasp_route_languages_end};
}
std::string_view embedded_model() {
    return {clasp_route_model_begin, clasp_route_model_end};
}

}  // namespace clasp::route
