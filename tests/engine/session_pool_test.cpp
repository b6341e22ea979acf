#include "engine/session_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace clasp::engine {
namespace {

struct Session {
    static inline std::atomic<int> n_alive = 0;
    std::atomic<int> n_users = 0;
    Session() { ++n_alive; }
    ~Session() { --n_alive; }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
};
using Pool = SessionPool<Session>;

Result<std::unique_ptr<Session>> make() {
    return std::make_unique<Session>();
}

TEST(SessionPool, GivesTheSameSessionAgain) {
    Pool pool(make, 2);
    const Session* first = nullptr;
    {
        auto lease = pool.take();
        ASSERT_TRUE(lease.ok());
        first = &**lease;
    }
    auto again = pool.take();
    EXPECT_EQ(&**again, first);
    auto other = pool.take();
    EXPECT_NE(&**other, first) << "in use";
    EXPECT_EQ(Session::n_alive, 2);
}

TEST(SessionPool, KeepsNoMoreThanItIsToldTo) {
    Pool pool(make, 2);
    {
        std::vector<Pool::Lease> leases;
        for (int i = 0; i < 5; ++i) leases.push_back(std::move(pool.take()).value());
        EXPECT_EQ(Session::n_alive, 5);
    }
    EXPECT_EQ(Session::n_alive, 2);
}

TEST(SessionPool, PassesErrorsOn) {
    Pool pool([]() -> Result<std::unique_ptr<Session>> { return Status(Code::OutOfMemory, "none left"); }, 2);
    EXPECT_EQ(pool.take().status().code(), Code::OutOfMemory);
}

TEST(SessionPool, NoSessionHasTwoUsers) {
    Pool pool(make, 3);
    std::atomic<int> n_shared = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                const auto lease = pool.take();
                if ((*lease)->n_users.fetch_add(1) != 0) ++n_shared;
                (*lease)->n_users.fetch_sub(1);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(n_shared, 0);
    EXPECT_LE(Session::n_alive, 3);
}

}  // namespace
}  // namespace clasp::engine
