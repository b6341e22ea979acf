// A config.json, or an object inside it: typed values with the file's name in every error. What a model needs
// and the file does not say is an error, unless the class that reads it at Hugging Face has a default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/status.h"

namespace clasp::convert {

class ModelConfig {
   public:
    ModelConfig() = default;
    // `where` names the file, and the object in it: "config.json" or "config.json, text_config".
    ModelConfig(std::string where, base::Json json) : where_(std::move(where)), json_(std::move(json)) {}

    [[nodiscard]] const std::string& where() const { return where_; }
    [[nodiscard]] const base::Json& json() const { return json_; }
    [[nodiscard]] bool has(std::string_view key) const;  // null counts as not there
    [[nodiscard]] bool is_object(std::string_view key) const { return json_[key].is_object(); }
    // An empty object if there is none.
    [[nodiscard]] ModelConfig part(const std::string& key) const;

    // Without a default, a missing key is an error.
    [[nodiscard]] Result<std::uint64_t> count(const std::string& key, std::uint64_t max,
                                              std::optional<std::uint64_t> fallback = std::nullopt) const;
    [[nodiscard]] Result<std::int64_t> integer(const std::string& key, std::int64_t fallback) const;
    [[nodiscard]] Result<double> number(const std::string& key,
                                        std::optional<double> fallback = std::nullopt) const;
    [[nodiscard]] Result<std::string> text(const std::string& key,
                                           std::optional<std::string> fallback = std::nullopt) const;
    [[nodiscard]] Result<bool> flag(const std::string& key, bool fallback) const;
    [[nodiscard]] Result<std::vector<double>> numbers(const std::string& key, std::size_t max_count) const;
    // The first of the list "architectures"; empty if there is none.
    [[nodiscard]] std::string architecture() const;

    // An error about a key.
    [[nodiscard]] Status wrong(const std::string& key, const std::string& reason) const;
    [[nodiscard]] Status unsupported(const std::string& key, const std::string& reason) const;

   private:
    std::string where_ = "config.json";
    base::Json json_ = base::Json::object();
};

}  // namespace clasp::convert
