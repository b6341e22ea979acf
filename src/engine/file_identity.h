// A name for the content of a model file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "clasp/status.h"
#include "clasp/thread_pool.h"

namespace clasp::engine {

// The digest of every byte: SHA-256 over the digests of pieces, which threads share. Files that differ
// anywhere have different names, whatever their size, time or place. pool may be null.
std::string content_identity(std::span<const std::byte> bytes, ThreadPool* pool);

// That of a file.
Result<std::string> file_identity(const std::string& path, ThreadPool* pool = nullptr);

// A name that changes when the file does, without reading all of it: its place on the disk, its size, the
// times of its last changes, and a digest of blocks from all over it.
Result<std::string> file_stamp(const std::string& path);

}  // namespace clasp::engine
