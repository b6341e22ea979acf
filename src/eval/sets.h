// One function per benchmark, each in a file of its own name; registry.cpp lists them.
#pragma once

#include "eval/benchmark.h"

namespace clasp::eval {

Benchmark scenes_benchmark();
Benchmark jsonl_benchmark();

}  // namespace clasp::eval
