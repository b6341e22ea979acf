// Tests over all families that the engine runs: one model of each, loaded once per program.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/mtmd_library.h"
#include "support/family_files.h"

namespace clasp {

class FamilyTest : public testing::TestWithParam<std::string> {
   protected:
    struct Loaded {
        test::FamilyModel model;
        std::unique_ptr<test::FamilyFiles> files;
        std::unique_ptr<Engine> engine;
    };

    void SetUp() override {
        if (!loaded().model.needs_libmtmd || loaded().engine != nullptr) return;
        GTEST_SKIP() << model::mtmd_library().status().message();
    }
    static Loaded& loaded() {
        static std::map<std::string, Loaded> all;
        Loaded& own = all[GetParam()];
        if (own.files != nullptr) return own;
        own.model = test::family_model(GetParam());
        own.files = std::make_unique<test::FamilyFiles>(own.model);
        if (own.model.needs_libmtmd && !has_libmtmd()) return own;
        own.engine = own.files->load();
        return own;
    }
    static const test::FamilyModel& family() { return loaded().model; }
    static const test::FamilyFiles& files() { return *loaded().files; }
    static const Engine& engine() { return *loaded().engine; }
    static Answer ask(const AskRequest& request) { return test::answer_of(engine(), request); }
    [[nodiscard]] AskRequest question() const { return test::question_about(picture_); }

    std::string picture_ = test::picture(1, test::family_model(GetParam()).picture);

   private:
    // A program that contains llama.cpp instead of loading it has nothing to offer to libraries; that it
    // cannot be loaded for another reason is a failure.
    static bool has_libmtmd() {
        const auto library = model::mtmd_library();
        const bool is_inside = library.status().message().find("undefined symbol") != std::string::npos;
        EXPECT_TRUE(library.ok() || is_inside) << library.status().message();
        return library.ok();
    }
};

inline std::string family_case_name(const testing::TestParamInfo<std::string>& info) {
    return info.param;
}

}  // namespace clasp
