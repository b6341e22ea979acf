// tokenizer.model: a protocol buffer, of which the pieces and a few settings are read. Numbers of fields are
// those of SentencePiece's published description.
#include <bit>
#include <cstring>

#include "base/text.h"
#include "base/utf8.h"
#include "convert/byte_source.h"
#include "convert/vocabulary.h"

namespace clasp::convert {
namespace {

enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

struct ProtoField {
    std::uint64_t number = 0;
    std::uint64_t wire = 0;
    std::uint64_t value = 0;      // of numbers
    std::string_view bytes = {};  // of what has a length
};

Status bad_proto(const std::string& what) {
    return {Code::Corrupt, "it is no SentencePiece model: " + what};
}

Result<std::uint64_t> take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (bytes.empty()) return bad_proto("a number is cut short");
        const auto byte = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        if (shift == 63 && byte > 1) break;
        value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
        if ((byte & 0x80U) == 0) return value;
    }
    return bad_proto("a number has more than 64 bits");
}

Result<ProtoField> take_field(std::string_view& bytes) {
    ProtoField field;
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t tag, take_varint(bytes));
    field.number = tag >> 3U;
    field.wire = tag & 7U;
    std::uint64_t length = 0;
    switch (field.wire) {
        case kVarint: {
            CLASP_ASSIGN_OR_RETURN(field.value, take_varint(bytes));
            return field;
        }
        case kFixed64: length = 8; break;
        case kFixed32: length = 4; break;
        case kLengthDelimited: {
            CLASP_ASSIGN_OR_RETURN(length, take_varint(bytes));
            break;
        }
        default: return bad_proto("a field is of the kind " + std::to_string(field.wire));
    }
    if (length > bytes.size()) return bad_proto("a field reaches beyond the end");
    field.bytes = bytes.substr(0, static_cast<std::size_t>(length));
    bytes.remove_prefix(static_cast<std::size_t>(length));
    if (field.wire != kLengthDelimited) field.value = little_endian(field.bytes, 0, field.bytes.size());
    return field;
}

Result<Token> read_piece(std::string_view bytes, std::size_t number) {
    Token token = {.text = {}, .score = 0.0F, .type = TokenType::Normal};
    while (!bytes.empty()) {
        CLASP_ASSIGN_OR_RETURN(const ProtoField field, take_field(bytes));
        if (field.number == 1 && field.wire == kLengthDelimited) token.text = std::string(field.bytes);
        if (field.number == 2 && field.wire == kFixed32) {
            token.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        }
        if (field.number != 3 || field.wire != kVarint) continue;
        if (field.value < 1 || field.value > 6) {
            return bad_proto("piece " + std::to_string(number) + " is of the type " +
                             std::to_string(field.value));
        }
        token.type = static_cast<TokenType>(field.value);
    }
    if (token.text.empty() || token.text.size() > kMaxTokenBytes) {
        return bad_proto("piece " + std::to_string(number) + " has " + std::to_string(token.text.size()) +
                         " bytes; it must have 1 to " + std::to_string(kMaxTokenBytes));
    }
    if (base::first_invalid_utf8(token.text)) {
        return bad_proto("piece " + std::to_string(number) + " is not UTF-8");
    }
    return token;
}

// How it was trained, and the numbers of special tokens.
Status read_trainer(std::string_view bytes, Vocabulary& vocabulary) {
    constexpr std::uint64_t kByBytePairs = 2;
    std::uint64_t model_type = 1;
    vocabulary.unknown = 0;
    vocabulary.bos = 1;
    vocabulary.eos = 2;
    while (!bytes.empty()) {
        CLASP_ASSIGN_OR_RETURN(const ProtoField field, take_field(bytes));
        if (field.wire != kVarint) continue;
        // Negative: there is none.
        const auto id = static_cast<std::int32_t>(static_cast<std::uint32_t>(field.value));
        const auto token = id >= 0 ? std::optional(static_cast<std::uint32_t>(id)) : std::nullopt;
        switch (field.number) {
            case 3: model_type = field.value; break;
            case 40: vocabulary.unknown = token; break;
            case 41: vocabulary.bos = token; break;
            case 42: vocabulary.eos = token; break;
            case 43: vocabulary.padding = token; break;
            default: break;
        }
    }
    if (model_type == kByBytePairs) return ok_status();
    return {Code::Unsupported,
            "it is a SentencePiece model of the kind " + std::to_string(model_type) +
                "; the kind 2 (byte pairs) can be converted, others need --tokenizer-from"};
}

Status read_normalizer(std::string_view bytes, Vocabulary& vocabulary) {
    while (!bytes.empty()) {
        CLASP_ASSIGN_OR_RETURN(const ProtoField field, take_field(bytes));
        if (field.number == 3 && field.wire == kVarint) vocabulary.adds_space = field.value != 0;
    }
    return ok_status();
}

}  // namespace

Result<Vocabulary> read_sentencepiece(std::string_view bytes) {
    Vocabulary vocabulary;
    vocabulary.kind = "llama";
    vocabulary.pre = "default";
    vocabulary.adds_space = true;
    bool has_trainer = false;
    while (!bytes.empty()) {
        CLASP_ASSIGN_OR_RETURN(const ProtoField field, take_field(bytes));
        if (field.wire != kLengthDelimited) continue;
        if (field.number == 1) {
            if (vocabulary.tokens.size() >= kMaxTokens) {
                return bad_proto("it has more than " + std::to_string(kMaxTokens) + " pieces");
            }
            CLASP_ASSIGN_OR_RETURN(Token token, read_piece(field.bytes, vocabulary.tokens.size()));
            vocabulary.tokens.push_back(std::move(token));
        } else if (field.number == 2) {
            CLASP_RETURN_IF_ERROR(read_trainer(field.bytes, vocabulary));
            has_trainer = true;
        } else if (field.number == 3) {
            CLASP_RETURN_IF_ERROR(read_normalizer(field.bytes, vocabulary));
        }
    }
    if (vocabulary.tokens.empty()) return bad_proto("it has no pieces");
    if (!has_trainer) return bad_proto("it does not say how it was trained");
    return vocabulary;
}

}  // namespace clasp::convert
