#include "convert/zip_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/text.h"

namespace clasp::convert {
namespace {

constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kMaxCommentBytes = 0xffff;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kTableEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 18U;
constexpr std::size_t kMaxZipNameBytes = 1024;
constexpr std::uint64_t kIn64 = 0xffffffffU;  // the number is in the zip64 field
constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::uint32_t kLocator64Mark = 0x07064b50;
constexpr std::uint32_t kEnd64Mark = 0x06064b50;
constexpr std::uint32_t kTableMark = 0x02014b50;
constexpr std::uint32_t kLocalMark = 0x04034b50;
constexpr std::uint64_t kEncrypted = 1;
constexpr std::uint64_t kSizesFollow = 8;  // the local header leaves them open

struct ZipTable {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t n_entries = 0;
    std::uint64_t end = 0;  // where the records begin that close the file
};

struct LocatedEntry {
    ZipEntry entry;
    std::uint64_t local = 0;  // of its local header
};

// Replaces what the short record leaves to the long one.
Status read_end64(const ByteSource& source, std::uint64_t end, ZipTable& table) {
    if (end < kLocator64Bytes) return source.corrupt("its zip64 record is missing");
    CLASP_ASSIGN_OR_RETURN(const std::string locator, source.read(end - kLocator64Bytes, kLocator64Bytes));
    if (little_endian(locator, 0, 4) != kLocator64Mark) {
        return source.corrupt("its zip64 record is missing");
    }
    if (little_endian(locator, 4, 4) != 0 || little_endian(locator, 16, 4) > 1) {
        return source.corrupt("it is part of a zip archive of several files");
    }
    const std::uint64_t at = little_endian(locator, 8, 8);
    const std::uint64_t last = end - kLocator64Bytes;
    if (at > last || last - at < kEnd64Bytes) return source.corrupt("its zip64 record lies outside");
    CLASP_ASSIGN_OR_RETURN(const std::string record, source.read(at, kEnd64Bytes));
    if (little_endian(record, 0, 4) != kEnd64Mark) return source.corrupt("its zip64 record is missing");
    if (little_endian(record, 16, 4) != 0 || little_endian(record, 20, 4) != 0 ||
        little_endian(record, 24, 8) != little_endian(record, 32, 8)) {
        return source.corrupt("it is part of a zip archive of several files");
    }
    table = {.offset = little_endian(record, 48, 8),
             .bytes = little_endian(record, 40, 8),
             .n_entries = little_endian(record, 32, 8),
             .end = at};
    return ok_status();
}

Result<ZipTable> read_end(const ByteSource& source) {
    if (source.size() < kEndBytes) return source.corrupt("it is too short to be a zip archive");
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), kEndBytes + kMaxCommentBytes));
    const std::uint64_t begin = source.size() - n;
    CLASP_ASSIGN_OR_RETURN(const std::string tail, source.read(begin, n));
    std::size_t at = n - kEndBytes;
    while (little_endian(tail, at, 4) != kEndMark || at + kEndBytes + little_endian(tail, at + 20, 2) != n) {
        if (at == 0) return source.corrupt("it has no end of a zip archive; it may be cut short");
        --at;
    }
    if (little_endian(tail, at + 4, 2) != 0 || little_endian(tail, at + 6, 2) != 0 ||
        little_endian(tail, at + 8, 2) != little_endian(tail, at + 10, 2)) {
        return source.corrupt("it is part of a zip archive of several files");
    }
    ZipTable table = {.offset = little_endian(tail, at + 16, 4),
                      .bytes = little_endian(tail, at + 12, 4),
                      .n_entries = little_endian(tail, at + 10, 2),
                      .end = begin + at};
    if (table.offset == kIn64 || table.bytes == kIn64 || table.n_entries == 0xffff) {
        CLASP_RETURN_IF_ERROR(read_end64(source, begin + at, table));
    }
    if (table.offset > table.end || table.bytes > table.end - table.offset) {
        return source.corrupt("its table of entries lies outside the file");
    }
    if (table.bytes > kMaxTableBytes || table.n_entries > kMaxEntries) {
        return source.refused(Code::TooLarge, "its table names " + std::to_string(table.n_entries) +
                                                  " entries in " + std::to_string(table.bytes) +
                                                  " bytes; the limits are " + std::to_string(kMaxEntries) +
                                                  " and " + std::to_string(kMaxTableBytes));
    }
    return table;
}

Status check_zip_name(const ByteSource& source, const std::string& name) {
    bool is_plain = !name.empty() && name.size() <= kMaxZipNameBytes;
    for (const char c : name) is_plain = is_plain && static_cast<unsigned char>(c) >= 0x20 && c != '\\';
    for (const std::string_view part : base::split(name, '/')) {
        is_plain = is_plain && !part.empty() && part != "." && part != "..";
    }
    if (is_plain) return ok_status();
    return source.corrupt("the name of an entry, " + base::in_quotes(name) + ", is no plain path");
}

// The numbers that did not fit into 32 bits, in their order.
Status read_extra64(const ByteSource& source, std::string_view extra, LocatedEntry& located,
                    std::uint64_t& packed) {
    std::uint64_t& size = located.entry.size;
    if (size != kIn64 && packed != kIn64 && located.local != kIn64) return ok_status();
    while (extra.size() >= 4) {
        const auto length = static_cast<std::size_t>(little_endian(extra, 2, 2));
        if (length > extra.size() - 4) break;
        if (little_endian(extra, 0, 2) != 1) {
            extra.remove_prefix(4 + length);
            continue;
        }
        std::string_view field = extra.substr(4, length);
        for (std::uint64_t* number : {&size, &packed, &located.local}) {
            if (*number != kIn64) continue;
            if (field.size() < 8) break;
            *number = little_endian(field, 0, 8);
            field.remove_prefix(8);
        }
        return ok_status();
    }
    return source.corrupt("the entry " + base::in_quotes(located.entry.name) +
                          " has no zip64 field with its sizes");
}

// The entry at the front of the table, which then begins behind it.
Result<LocatedEntry> take_entry(const ByteSource& source, std::string_view& table) {
    if (table.size() < kTableEntryBytes || little_endian(table, 0, 4) != kTableMark) {
        return source.corrupt("its table of entries ends early");
    }
    const std::uint64_t flags = little_endian(table, 8, 2);
    const std::uint64_t method = little_endian(table, 10, 2);
    LocatedEntry located;
    located.entry.crc32 = static_cast<std::uint32_t>(little_endian(table, 16, 4));
    std::uint64_t packed = little_endian(table, 20, 4);
    located.entry.size = little_endian(table, 24, 4);
    const auto name_bytes = static_cast<std::size_t>(little_endian(table, 28, 2));
    const auto extra_bytes = static_cast<std::size_t>(little_endian(table, 30, 2));
    const auto comment_bytes = static_cast<std::size_t>(little_endian(table, 32, 2));
    located.local = little_endian(table, 42, 4);
    if (name_bytes + extra_bytes + comment_bytes > table.size() - kTableEntryBytes) {
        return source.corrupt("its table of entries ends early");
    }
    located.entry.name = std::string(table.substr(kTableEntryBytes, name_bytes));
    const std::string_view extra = table.substr(kTableEntryBytes + name_bytes, extra_bytes);
    table.remove_prefix(kTableEntryBytes + name_bytes + extra_bytes + comment_bytes);
    CLASP_RETURN_IF_ERROR(check_zip_name(source, located.entry.name));
    CLASP_RETURN_IF_ERROR(read_extra64(source, extra, located, packed));
    const std::string entry = "the entry " + base::in_quotes(located.entry.name);
    if ((flags & kEncrypted) != 0) return source.refused(Code::Unsupported, entry + " is encrypted");
    if (method != 0) {
        return source.refused(Code::Unsupported,
                              entry + " is compressed; entries of checkpoints are stored as they are");
    }
    if (packed != located.entry.size) return source.corrupt(entry + " has two sizes");
    return located;
}

// Finds the entry's bytes, which follow its local header.
Status locate(const ByteSource& source, const ZipTable& table, LocatedEntry& located) {
    ZipEntry& entry = located.entry;
    const std::string what = "the entry " + base::in_quotes(entry.name);
    if (located.local > table.offset || table.offset - located.local < kLocalBytes) {
        return source.corrupt(what + " lies outside the file");
    }
    CLASP_ASSIGN_OR_RETURN(const std::string local, source.read(located.local, kLocalBytes));
    if (little_endian(local, 0, 4) != kLocalMark)
        return source.corrupt(what + " is not where the table says");
    const auto name_bytes = static_cast<std::size_t>(little_endian(local, 26, 2));
    const std::uint64_t flags = little_endian(local, 6, 2);
    if (name_bytes != entry.name.size() || little_endian(local, 8, 2) != 0 || (flags & kEncrypted) != 0) {
        return source.corrupt(what + " says otherwise in front of its bytes than in the table");
    }
    const std::uint64_t size = little_endian(local, 22, 4);
    if ((flags & kSizesFollow) == 0 && size != kIn64 && size != entry.size) {
        return source.corrupt(what + " has two sizes");
    }
    const std::uint64_t begin = located.local + kLocalBytes + name_bytes + little_endian(local, 28, 2);
    if (begin > table.offset || entry.size > table.offset - begin) {
        return source.corrupt(what + " reaches beyond the bytes of the file");
    }
    CLASP_ASSIGN_OR_RETURN(const std::string name, source.read(located.local + kLocalBytes, name_bytes));
    if (name != entry.name) {
        return source.corrupt(what + " is called otherwise in front of its bytes than in the table");
    }
    entry.offset = begin;
    return ok_status();
}

Status check_overlap(const ByteSource& source, const std::vector<LocatedEntry>& entries) {
    std::vector<const LocatedEntry*> order;
    for (const LocatedEntry& located : entries) order.push_back(&located);
    std::sort(order.begin(), order.end(),
              [](const LocatedEntry* a, const LocatedEntry* b) { return a->local < b->local; });
    for (std::size_t i = 1; i < order.size(); ++i) {
        const ZipEntry& before = order[i - 1]->entry;
        if (before.offset + before.size > order[i]->local) {
            return source.corrupt("the entries " + base::in_quotes(before.name) + " and " +
                                  base::in_quotes(order[i]->entry.name) + " overlap");
        }
    }
    return ok_status();
}

// Eight bytes at a time: table k is the checksum of a byte with k zero bytes behind it.
using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr CrcTables make_crc_tables() {
    CrcTables tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1U) != 0 ? (value >> 1U) ^ 0xedb88320U : value >> 1U;
        tables[0][i] = value;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t i = 0; i < 256; ++i) {
            tables[k][i] = (tables[k - 1][i] >> 8U) ^ tables[0][tables[k - 1][i] & 0xffU];
        }
    }
    return tables;
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip(const ByteSource& source) {
    CLASP_ASSIGN_OR_RETURN(const ZipTable table, read_end(source));
    CLASP_ASSIGN_OR_RETURN(const std::string bytes,
                           source.read(table.offset, static_cast<std::size_t>(table.bytes)));
    std::vector<LocatedEntry> located;
    std::set<std::string> names;
    std::string_view rest = bytes;
    for (std::uint64_t i = 0; i < table.n_entries; ++i) {
        CLASP_ASSIGN_OR_RETURN(LocatedEntry entry, take_entry(source, rest));
        CLASP_RETURN_IF_ERROR(locate(source, table, entry));
        if (!names.insert(entry.entry.name).second) {
            return source.corrupt("the entry " + base::in_quotes(entry.entry.name) + " appears twice");
        }
        located.push_back(std::move(entry));
    }
    if (!rest.empty()) return source.corrupt("its table of entries is longer than its entries");
    CLASP_RETURN_IF_ERROR(check_overlap(source, located));
    std::vector<ZipEntry> entries;
    for (LocatedEntry& entry : located) entries.push_back(std::move(entry.entry));
    return entries;
}

std::uint32_t crc32_of(std::uint32_t before, std::string_view bytes) {
    static constexpr CrcTables kTables = make_crc_tables();
    std::uint32_t crc = ~before;
    while (bytes.size() >= 8) {
        std::uint64_t word = little_endian(bytes, 0, 8) ^ crc;
        crc = 0;
        for (std::size_t k = 8; k-- > 0; word >>= 8U) crc ^= kTables[k][word & 0xffU];
        bytes.remove_prefix(8);
    }
    for (const char c : bytes) {
        crc = (crc >> 8U) ^ kTables[0][(crc ^ static_cast<unsigned char>(c)) & 0xffU];
    }
    return ~crc;
}

}  // namespace clasp::convert
