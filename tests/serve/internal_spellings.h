// Ways to write the address of a machine that a picture must not come from: inside, or not on the list, which
// has good.example alone.
#pragma once

#include <string>
#include <vector>

namespace clasp::serve {

inline const std::vector<std::string>& internal_spellings() {
    static const std::vector<std::string> kSpellings = {
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "0",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "LOCALHOST",
        "localhost.",
        "a@127.0.0.1",
        "good.example@127.0.0.1",
        "127.0.0.1#@good.example",
        "127.0.0.1%23@good.example",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "[fe80::1]",
        "[fd00::1]",
        "metadata.google.internal",
        "127.0.0.1\\@good.example",
        "good.example\\@127.0.0.1",
        "good.example\\.127.0.0.1",
        "127.0.0.1/..",
        "0x7f.0.0.1",
        "00000177.1",
        "127.000.000.001",
        "localtest.me",
        "127.0.0.1.nip.io",
        "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "127.0.0.1:443@localhost",
        "good.example:444",
        "good.example.evil.example",
        "evil-good.example",
        "good.example%2f@127.0.0.1",
        "good.example\t127.0.0.1",
        "good.example 127.0.0.1",
        "xgood.example",
        "good.example:80",
        "127\xE3\x80\x82"
        "0\xE3\x80\x82"
        "0\xE3\x80\x82"
        "1",
        "\xE2\x91\xA0\xE2\x91\xA1\xE2\x91\xA6.0.0.1",
        "127.0.0.1:80@localhost",
    };
    return kSpellings;
}

}  // namespace clasp::serve
