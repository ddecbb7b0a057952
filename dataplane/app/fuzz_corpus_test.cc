// Inputs that once broke the parsers, or look as if they might, stay fine.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

TEST(SwitchFuzz, corpus_stays_fine) {
  int inputs = 0;
  for (const auto& file : std::filesystem::directory_iterator(L3DML_CORPUS)) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0)
        << file.path();
    ++inputs;
  }
  EXPECT_GT(inputs, 0);
}
