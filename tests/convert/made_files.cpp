#include "made_files.h"

#include <map>

namespace clasp::test {
namespace {

std::string shape_list(const std::vector<std::uint64_t>& shape) {
    std::string text;
    for (const std::uint64_t n : shape) text += (text.empty() ? "" : ",") + std::to_string(n);
    return "[" + text + "]";
}

// GLOBAL
std::string pickle_class(const std::string& module, const std::string& name) {
    return "c" + module + "\n" + name + "\n";
}

std::string storage_class(const std::string& dtype) {
    static const std::map<std::string, std::string> names = {
        {"F64", "DoubleStorage"},    {"F32", "FloatStorage"}, {"F16", "HalfStorage"},
        {"BF16", "BFloat16Storage"}, {"I64", "LongStorage"},  {"U8", "ByteStorage"}};
    return names.at(dtype);
}

std::uint64_t width_of(const std::string& dtype) {
    if (dtype == "F64" || dtype == "I64") return 8;
    if (dtype == "F32") return 4;
    return dtype == "U8" ? 1 : 2;
}

}  // namespace

std::string safetensors_of_head(std::string_view head, std::string_view data) {
    std::string out;
    put_number(out, std::uint64_t{head.size()});
    out += head;
    out += data;
    return out;
}

std::string made_safetensors(const std::vector<MadeTensor>& tensors) {
    std::string head = R"({"__metadata__":{"format":"pt"})";
    std::string data;
    for (const MadeTensor& tensor : tensors) {
        head += ",\"" + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":)" +
                shape_list(tensor.shape) + R"(,"data_offsets":[)" + std::to_string(data.size()) + "," +
                std::to_string(data.size() + tensor.data.size()) + "]}";
        data += tensor.data;
    }
    head += "}";
    head.resize((head.size() + 7) / 8 * 8, ' ');
    return safetensors_of_head(head, data);
}

std::uint32_t plain_crc32(std::string_view bytes) {
    std::uint32_t crc = 0xffffffffU;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ 0xedb88320U : crc >> 1U;
    }
    return ~crc;
}

std::string MadeZip::bytes() const {
    std::string out;
    std::string table;
    constexpr std::uint32_t kElsewhere = 0xffffffffU;
    for (const MadeEntry& entry : entries) {
        const std::uint64_t place = out.size() + entry.place_error;
        const std::uint64_t size = entry.data.size() + entry.size_error;
        const std::uint32_t crc = plain_crc32(entry.data) + entry.crc_error;
        const std::string& local_name = entry.local_name.empty() ? entry.name : entry.local_name;
        out += "PK\x03\x04";
        put_number(out, std::uint16_t{45});
        put_number(out, entry.flags);
        put_number(out, entry.method);
        put_number(out, std::uint32_t{0});
        const bool follows = (entry.flags & 8U) != 0;  // checksum and sizes come behind the data
        put_number(out, follows ? 0 : crc);
        put_number(out, follows ? 0 : static_cast<std::uint32_t>(entry.data.size()));
        put_number(out, follows ? 0 : static_cast<std::uint32_t>(entry.data.size()));
        put_number(out, static_cast<std::uint16_t>(local_name.size()));
        // PyTorch fills up so that data begin at multiples of 64.
        const std::uint64_t at = out.size() + 2 + local_name.size();
        const std::uint64_t padding = (64 - (at + 4) % 64) % 64;
        put_number(out, static_cast<std::uint16_t>(4 + padding));
        out += local_name;
        put_number(out, std::uint16_t{0x4246});
        put_number(out, static_cast<std::uint16_t>(padding));
        out.append(padding, 'Z');
        out += entry.data;
        if (follows) {
            out += "PK\x07\x08";
            put_number(out, crc);
            put_number(out, std::uint64_t{entry.data.size()});
            put_number(out, std::uint64_t{entry.data.size()});
        }

        std::string extra;
        if (is_64) {
            put_number(extra, std::uint16_t{1});
            put_number(extra, std::uint16_t{24});
            put_number(extra, size);
            put_number(extra, size);
            put_number(extra, place);
        }
        table += "PK\x01\x02";
        put_number(table, std::uint16_t{45});
        put_number(table, std::uint16_t{45});
        put_number(table, entry.flags);
        put_number(table, entry.method);
        put_number(table, std::uint32_t{0});
        put_number(table, crc);
        put_number(table, is_64 ? kElsewhere : static_cast<std::uint32_t>(size));
        put_number(table, is_64 ? kElsewhere : static_cast<std::uint32_t>(size));
        put_number(table, static_cast<std::uint16_t>(entry.name.size()));
        put_number(table, static_cast<std::uint16_t>(extra.size()));
        put_number(table, std::uint16_t{0});
        put_number(table, std::uint16_t{0});
        put_number(table, std::uint16_t{0});
        put_number(table, std::uint32_t{0});
        put_number(table, is_64 ? kElsewhere : static_cast<std::uint32_t>(place));
        table += entry.name + extra;
    }
    const std::uint64_t table_at = out.size() + table_error;
    const std::uint64_t count = entries.size() + count_error;
    out += table;
    if (is_64) {
        const std::uint64_t end_at = out.size();
        out += "PK\x06\x06";
        put_number(out, std::uint64_t{44});
        put_number(out, std::uint32_t{0x2d002d});
        put_number(out, std::uint64_t{0});
        put_number(out, count);
        put_number(out, count);
        put_number(out, std::uint64_t{table.size()});
        put_number(out, table_at);
        out += "PK\x06\x07";
        put_number(out, std::uint32_t{0});
        put_number(out, end_at);
        put_number(out, std::uint32_t{1});
    }
    out += "PK\x05\x06";
    put_number(out, std::uint32_t{0});
    for (int i = 0; i < 2; ++i) {
        put_number(out, is_64 ? std::uint16_t{0xffff} : static_cast<std::uint16_t>(count));
    }
    put_number(out, is_64 ? kElsewhere : static_cast<std::uint32_t>(table.size()));
    put_number(out, is_64 ? kElsewhere : static_cast<std::uint32_t>(table_at));
    put_number(out, static_cast<std::uint16_t>(comment.size()));
    return out + comment;
}

std::string pickle_text(std::string_view text) {
    std::string out = "X";
    put_number(out, static_cast<std::uint32_t>(text.size()));
    return out + std::string(text);
}

std::string pickle_int(std::uint64_t value) {
    std::string out;
    if (value < 256) {
        out = "K";
        put_number(out, static_cast<std::uint8_t>(value));
    } else if (value < 65536) {
        out = "M";
        put_number(out, static_cast<std::uint16_t>(value));
    } else if (value < (std::uint64_t{1} << 31U)) {
        out = "J";
        put_number(out, static_cast<std::uint32_t>(value));
    } else {
        out = "\x8a\x08";
        put_number(out, value);
    }
    return out;
}

std::string pickle_tensor(const MadeTensor& tensor, std::string_view storage) {
    std::string strides = "(";
    std::string sizes = "(";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        std::uint64_t stride = 1;
        for (std::size_t j = i + 1; j < tensor.shape.size(); ++j) stride *= tensor.shape[j];
        sizes += pickle_int(tensor.shape[i]);
        strides += pickle_int(stride);
    }
    return pickle_class("torch._utils", "_rebuild_tensor_v2") + "((" + pickle_text("storage") +
           pickle_class("torch", storage_class(tensor.dtype)) + pickle_text(storage) + pickle_text("cpu") +
           pickle_int(tensor.data.size() / width_of(tensor.dtype)) + "tQ" + pickle_int(0) + sizes + "t" +
           strides + "t\x89" + pickle_class("collections", "OrderedDict") + ")RtR";
}

std::string made_pickle(const std::vector<MadeTensor>& tensors, bool is_ordered) {
    std::string out = "\x80\x02";
    out += is_ordered ? pickle_class("collections", "OrderedDict") + ")R" : "}";
    out += std::string("q\x01(", 3);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        out += pickle_text(tensors[i].name) + pickle_tensor(tensors[i], std::to_string(i));
    }
    out += "u";
    if (is_ordered) {  // versions of modules, as an attribute
        out += "}" + pickle_text("_metadata") + pickle_class("collections", "OrderedDict") + ")R(" +
               pickle_text("") + "}" + pickle_text("version") + pickle_int(1) + "su" + "sb";
    }
    return out + ".";
}

MadeZip made_archive(const std::vector<MadeTensor>& tensors, bool is_ordered) {
    MadeZip zip;
    zip.entries.push_back({.name = "archive/data.pkl", .data = made_pickle(tensors, is_ordered)});
    zip.entries.push_back({.name = "archive/byteorder", .data = "little"});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        zip.entries.push_back({.name = "archive/data/" + std::to_string(i), .data = tensors[i].data});
    }
    zip.entries.push_back({.name = "archive/version", .data = "3\n"});
    return zip;
}

}  // namespace clasp::test
