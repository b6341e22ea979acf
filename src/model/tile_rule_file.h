// The keys and the tensor by which a vision file says that it cuts pictures into tiles.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/tile_rule.h"

namespace clasp::model {

// None when the file lists no resolutions: pictures stay whole then (LLaVA-1.5). The tower takes squares of
// tile_size pixels and makes a token of each of its patches, at most max_tokens of a picture. Errors:
// corrupt, unsupported; each names its key.
Result<std::optional<TileRule>> read_tile_rule(const GgufReader& reader, std::size_t tile_size,
                                               std::size_t patches_per_side, std::size_t max_tokens);

// A sentence about a file that asks for line breaks and has no vector for them; empty for others.
std::string missing_newline_note(const GgufReader& reader);

// The name of the newline vector; empty when the file has none. Converters disagree about it.
std::string newline_tensor(const GgufReader& reader);

}  // namespace clasp::model
