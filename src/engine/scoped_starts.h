// Beginnings of prompts of one party alone: what others left is not found, though it is the same.
#pragma once

#include <string>
#include <utility>

#include "engine/key_hash.h"
#include "engine/prompt_start.h"

namespace clasp::engine {

class ScopedStarts final : public StartStore {
   public:
    // The store is borrowed.
    ScopedStarts(StartStore& store, std::string scope) : store_(store), scope_(std::move(scope)) {}

    [[nodiscard]] bool keeps(StartPart part) const override { return store_.keeps(part); }
    SharedStart find(StartPart part, const std::string& key) override { return store_.find(part, own(key)); }
    void keep(StartPart part, const std::string& key, SharedStart start) override {
        store_.keep(part, own(key), std::move(start));
    }

   private:
    [[nodiscard]] std::string own(const std::string& key) const {
        KeyHash hash("scope");
        hash.add(scope_);
        hash.add(key);
        return hash.finish();
    }

    StartStore& store_;
    std::string scope_;
};

}  // namespace clasp::engine
