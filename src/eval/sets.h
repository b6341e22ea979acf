// One function per benchmark, each in the file of its name; registry.cpp lists them.
#pragma once

#include "eval/benchmark.h"

namespace clasp::eval {

Benchmark gqa_benchmark();
Benchmark jsonl_benchmark();
Benchmark llava_bench_benchmark();
Benchmark mm_vet_benchmark();
Benchmark mmbench_benchmark();
Benchmark mmbench_cn_benchmark();
Benchmark mme_benchmark();
Benchmark msrvtt_qa_benchmark();
Benchmark msvd_qa_benchmark();
Benchmark pope_benchmark();
Benchmark scenes_benchmark();
Benchmark scenes_video_benchmark();
Benchmark scienceqa_benchmark();
Benchmark seed_bench_benchmark();
Benchmark textvqa_benchmark();
Benchmark tgif_qa_benchmark();
Benchmark vizwiz_benchmark();
Benchmark vqav2_benchmark();

}  // namespace clasp::eval
