// Checkpoint files as Hugging Face's and PyTorch's libraries write them, written straight from the formats'
// descriptions, and the same with something wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::test {

struct MadeTensor {
    std::string name;
    std::string dtype = "F32";  // of safetensors
    std::vector<std::uint64_t> shape;
    std::string data;
};

template <typename T>
void put_number(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A head in front of its data.
std::string safetensors_of_head(std::string_view head, std::string_view data);
std::string made_safetensors(const std::vector<MadeTensor>& tensors);

// A zip archive of stored entries; each field can be made wrong.
struct MadeEntry {
    std::string name;
    std::string data;
    std::string local_name = {};  // when it is another one
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
    std::uint64_t size_error = 0;   // added to the size in the table
    std::uint64_t place_error = 0;  // added to the place in the table
    std::uint32_t crc_error = 0;
};
struct MadeZip {
    std::vector<MadeEntry> entries;
    bool is_64 = false;  // sizes, places and the end in zip64 fields
    std::string comment = {};
    std::uint64_t count_error = 0;
    std::uint64_t table_error = 0;  // added to the table's place
    [[nodiscard]] std::string bytes() const;
};

std::uint32_t plain_crc32(std::string_view bytes);  // bit by bit

// The pickle of a dictionary of tensors, as torch.save writes it.
std::string made_pickle(const std::vector<MadeTensor>& tensors, bool is_ordered);
// Pieces of pickles.
std::string pickle_text(std::string_view text);
std::string pickle_int(std::uint64_t value);
std::string pickle_tensor(const MadeTensor& tensor, std::string_view storage);

// A whole .bin file.
MadeZip made_archive(const std::vector<MadeTensor>& tensors, bool is_ordered = true);

}  // namespace clasp::test
