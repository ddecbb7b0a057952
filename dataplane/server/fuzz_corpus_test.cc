// Requests that once broke the driver, or look as if they might, stay fine; and so do ten thousand that a
// fixed seed makes up.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

TEST(RequestsFuzz, corpus_stays_fine) {
  int inputs = 0;
  for (const auto& file : std::filesystem::directory_iterator(L3DML_TESTDATA "/fuzz_corpus")) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0)
        << file.path();
    ++inputs;
  }
  EXPECT_GT(inputs, 0);
}

TEST(RequestsFuzz, made_up_requests_stay_fine) {
  std::mt19937 random(20240501);
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 10'000; ++i) {
    bytes.resize(2 + random() % 400);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    bytes[0] = 2;
    EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
  }
}
