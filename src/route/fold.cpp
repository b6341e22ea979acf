#include "route/fold.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace clasp::route {

namespace {

// Base letters of U+00C0 .. U+024F and of U+1E00 .. U+1EFF; '?' keeps the code point as it is.
constexpr std::string_view kLatin =
    "aaaaaaaceeeeiiiidnooooo?ouuuuytsaaaaaaaceeeeiiiidnooooo?ouuuuyty"
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
    "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"
    "bbbb???cc?ddd????ffg???ikkl??nnooo??pp?????ttttuu?vyyzz?????????"
    "?????d??l??n?aaiioouuuuuuuuuu?aaaa??ggggkkoooo??j?d?gg??nnaa??oo"
    "aaaaeeeeiiiioooorrrruuuusstt??hhnd??zzaaeeooooooooyylnt???acclts"
    "z??b??eejj?qrryy";
static_assert(kLatin.size() == 0x250 - 0xC0);
constexpr std::string_view kLatinAdditional =
    "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm"
    "mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv"
    "wwwwwwwwwwxxxxyyzzzzzzhtwya?????aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee"
    "eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy????yy";
static_assert(kLatinAdditional.size() == 0x100);

struct Variant {
    char32_t from;
    char32_t to;
};

// Traditional to simplified, limited to characters that carry the sense of a question.
constexpr auto kSimplified = [] {
    std::array variants{
        Variant{U'\u5716', U'\u56fe'}, Variant{U'\u500b', U'\u4e2a'}, Variant{U'\u9ebc', U'\u4e48'},
        Variant{U'\u5f35', U'\u5f20'}, Variant{U'\u5e7e', U'\u51e0'}, Variant{U'\u6578', U'\u6570'},
        Variant{U'\u88e1', U'\u91cc'}, Variant{U'\u88cf', U'\u91cc'}, Variant{U'\u9019', U'\u8fd9'},
        Variant{U'\u70ba', U'\u4e3a'}, Variant{U'\u8acb', U'\u8bf7'}, Variant{U'\u984f', U'\u989c'},
        Variant{U'\u8ab0', U'\u8c01'}, Variant{U'\u5beb', U'\u5199'}, Variant{U'\u8aaa', U'\u8bf4'},
        Variant{U'\u5011', U'\u4eec'}, Variant{U'\u55ce', U'\u5417'}, Variant{U'\u908a', U'\u8fb9'},
        Variant{U'\u5f8c', U'\u540e'}, Variant{U'\u8eca', U'\u8f66'}, Variant{U'\u52d5', U'\u52a8'},
        Variant{U'\u9ede', U'\u70b9'}, Variant{U'\u6a23', U'\u6837'}, Variant{U'\u7a2e', U'\u79cd'},
        Variant{U'\u8655', U'\u5904'}, Variant{U'\u5167', U'\u5185'}, Variant{U'\u8b58', U'\u8bc6'},
        Variant{U'\u8b80', U'\u8bfb'}, Variant{U'\u6a19', U'\u6807'}, Variant{U'\u984c', U'\u9898'},
        Variant{U'\u8a08', U'\u8ba1'}, Variant{U'\u7e3d', U'\u603b'}, Variant{U'\u8ad6', U'\u8bba'},
        Variant{U'\u7d50', U'\u7ed3'}, Variant{U'\u7d19', U'\u7eb8'}, Variant{U'\u66f8', U'\u4e66'},
        Variant{U'\u9593', U'\u95f4'}, Variant{U'\u9580', U'\u95e8'}, Variant{U'\u958b', U'\u5f00'},
        Variant{U'\u95dc', U'\u5173'}, Variant{U'\u982d', U'\u5934'}, Variant{U'\u6771', U'\u4e1c'},
        Variant{U'\u570b', U'\u56fd'}, Variant{U'\u6703', U'\u4f1a'}, Variant{U'\u5c0d', U'\u5bf9'},
        Variant{U'\u73fe', U'\u73b0'}, Variant{U'\u767c', U'\u53d1'}, Variant{U'\u5ee0', U'\u5382'},
        Variant{U'\u865f', U'\u53f7'}, Variant{U'\u7de8', U'\u7f16'}, Variant{U'\u932f', U'\u9519'},
        Variant{U'\u8a9e', U'\u8bed'}, Variant{U'\u4f54', U'\u5360'}, Variant{U'\u5834', U'\u573a'},
        Variant{U'\u8996', U'\u89c6'}, Variant{U'\u89c0', U'\u89c2'}, Variant{U'\u898b', U'\u89c1'},
        Variant{U'\u8207', U'\u4e0e'}, Variant{U'\u5f9e', U'\u4ece'}, Variant{U'\u7d66', U'\u7ed9'},
        Variant{U'\u9084', U'\u8fd8'}, Variant{U'\u904e', U'\u8fc7'}, Variant{U'\u9054', U'\u8fbe'},
        Variant{U'\u54e1', U'\u5458'}, Variant{U'\u6a5f', U'\u673a'}, Variant{U'\u7246', U'\u5899'}};
    std::sort(variants.begin(), variants.end(), [](Variant a, Variant b) { return a.from < b.from; });
    return variants;
}();

// CJK and typographic punctuation to ASCII.
char32_t fold_punctuation(char32_t c) {
    switch (c) {
        case 0x2018:
        case 0x2019:
        case 0x201B:
        case 0x02BC:
        case 0x00B4: return U'\'';
        case 0x201C:
        case 0x201D:
        case 0x201E:
        case 0x300A:
        case 0x300B:
        case 0x300C:
        case 0x300D:
        case 0x300E:
        case 0x300F:
        case 0x00AB:
        case 0x00BB: return U'"';
        case 0x060C:
        case 0x3001: return U',';
        case 0x061B: return U';';
        case 0x061F: return U'?';
        case 0x06D4:
        case 0x0964:
        case 0x0965:
        case 0x3002: return U'.';
        case 0x2013:
        case 0x2014:
        case 0x2212:
        case 0x2010:
        case 0x2011: return U'-';
        default: return c;
    }
}

// Spellings that vary from writer to writer: Arabic alif and ya, Persian kaf, Cyrillic io and short i.
char32_t fold_spelling(char32_t c) {
    switch (c) {
        case 0x0622:
        case 0x0623:
        case 0x0625: return 0x0627;
        case 0x0649:
        case 0x06CC: return 0x064A;
        case 0x06A9: return 0x0643;
        case 0x0451: return 0x0435;
        case 0x0439: return 0x0438;
        default: return c;
    }
}

bool is_dropped(char32_t c) {
    // Arabic vowel signs and the stretching stroke are written or left out at will.
    if ((c >= 0x064B && c <= 0x0652) || c == 0x0640) return true;
    return (c >= 0x0300 && c <= 0x036F) || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x2064) || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF || c == 0x00AD;
}

bool is_space_or_control(char32_t c) {
    return c <= 0x20 || (c >= 0x7F && c <= 0xA0) || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace

char32_t fold(char32_t c) {
    if (is_space_or_control(c)) return U' ';
    if (c < 0x80) return (c >= U'A' && c <= U'Z') ? c + 32 : c;
    if (is_dropped(c)) return kDropped;
    if (c >= 0xFF01 && c <= 0xFF5E) return fold(c - 0xFF01 + 0x21);  // full width
    if ((c >= 0xC0 && c < 0x250) || (c >= 0x1E00 && c < 0x1F00)) {
        const char base = c < 0x250 ? kLatin[c - 0xC0] : kLatinAdditional[c - 0x1E00];
        return base == '?' ? c : static_cast<char32_t>(base);
    }
    if (c >= 0x0391 && c <= 0x03A9) return c + 32;                 // Greek capitals
    if (c >= 0x0410 && c <= 0x042F) return fold_spelling(c + 32);  // Cyrillic capitals
    if (c >= 0x0400 && c <= 0x040F) return fold_spelling(c + 80);
    if (const char32_t usual = fold_spelling(c); usual != c) return usual;
    if (is_cjk(c)) {
        const auto found = std::lower_bound(kSimplified.begin(), kSimplified.end(), c,
                                            [](Variant v, char32_t value) { return v.from < value; });
        return found != kSimplified.end() && found->from == c ? found->to : c;
    }
    return fold_punctuation(c);
}

bool is_cjk(char32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x323AF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x3040 && c <= 0x30FF);
}

bool is_word_character(char32_t c) {
    if (c < 0x80) return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9');
    if (is_dropped(c) || is_space_or_control(c) || fold_punctuation(c) != c) return false;
    const bool symbols = (c >= 0x2000 && c <= 0x2BFF) || (c >= 0x3000 && c <= 0x303F) ||
                         (c >= 0xFE10 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFFEF) || c >= 0x1F000;
    return c >= 0xC0 && c != 0xD7 && c != 0xF7 && !symbols;
}

bool is_upper(char32_t c) {
    return (c >= U'A' && c <= U'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
           (c >= 0x0391 && c <= 0x03A9) || (c >= 0x0400 && c <= 0x042F);
}

}  // namespace clasp::route
