#include "bench/macro/swx_spec.h"

#include <deque>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <rte_swx_pipeline.h>

namespace l3dml::bench {
namespace {

using Words = std::vector<std::string>;

class Reader {
 public:
  Reader(rte_swx_pipeline* pipeline, const std::string& text) : pipeline_(pipeline), in_(text) {}

  void read() {
    for (Words words; next(&words);) {
      if (words[0] == "struct")
        structure(words.at(1));
      else if (words[0] == "header")
        check(rte_swx_pipeline_packet_header_register(pipeline_, words.at(1).c_str(), words.at(3).c_str()));
      else if (words[0] == "metadata")
        check(rte_swx_pipeline_packet_metadata_register(pipeline_, words.at(2).c_str()));
      else if (words[0] == "regarray")
        check(rte_swx_pipeline_regarray_config(pipeline_, words.at(1).c_str(),
                                               static_cast<uint32_t>(std::stoul(words.at(3))),
                                               std::stoull(words.at(5))));
      else if (words[0] == "action")
        action(words);
      else if (words[0] == "table")
        table(words.at(1));
      else if (words[0] == "apply")
        apply();
      else
        fail("unknown word " + words[0]);
    }
    check(rte_swx_pipeline_build(pipeline_));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("spec, line " + std::to_string(line_) + ": " + what);
  }
  void check(int status) const {
    if (status != 0) fail("refused with " + std::to_string(status));
  }
  // The next line with anything on it, as words and as text without the space around it.
  bool next(Words* words) {
    for (std::string line; std::getline(in_, line);) {
      ++line_;
      const size_t begin = line.find_first_not_of(" \t");
      if (begin == std::string::npos || line[begin] == ';' || line.compare(begin, 2, "//") == 0) continue;
      text_ = line.substr(begin);
      std::istringstream split(line);
      words->clear();
      for (std::string word; split >> word;) words->push_back(word);
      return true;
    }
    return false;
  }
  bool inside(Words* words) { return next(words) && (*words)[0] != "}"; }

  void structure(const std::string& name) {
    std::deque<std::string> names;
    std::vector<rte_swx_field_params> fields;
    for (Words words; inside(&words);) {
      names.push_back(words.at(1));
      fields.push_back(
          {names.back().c_str(), static_cast<uint32_t>(std::stoul(words[0].substr(4)))});  // bit<N>
    }
    check(rte_swx_pipeline_struct_type_register(pipeline_, name.c_str(), fields.data(),
                                                static_cast<uint32_t>(fields.size()), 0));
  }
  std::deque<std::string> instructions() {
    std::deque<std::string> lines;
    for (Words words; inside(&words);) lines.push_back(text_);
    return lines;
  }
  static std::vector<const char*> pointers(const std::deque<std::string>& lines) {
    std::vector<const char*> result;
    for (const std::string& line : lines) result.push_back(line.c_str());
    return result;
  }
  void action(const Words& words) {
    const std::string args = words.at(3) == "none" ? "" : words.at(4);
    const auto lines = instructions();
    auto list = pointers(lines);
    check(rte_swx_pipeline_action_config(pipeline_, words.at(1).c_str(),
                                         args.empty() ? nullptr : args.c_str(), list.data(),
                                         static_cast<uint32_t>(list.size())));
  }
  void table(const std::string& name) {
    std::deque<std::string> keys, actions;
    std::string fallback;
    uint32_t size = 0;
    for (Words words; inside(&words);) {
      if (words[0] == "key")
        while (inside(&words)) keys.push_back(words[0]);
      else if (words[0] == "actions")
        while (inside(&words)) actions.push_back(words[0]);
      else if (words[0] == "default_action")
        fallback = words.at(1);
      else if (words[0] == "size")
        size = static_cast<uint32_t>(std::stoul(words.at(1)));
    }
    std::vector<rte_swx_match_field_params> fields;
    for (const std::string& key : keys) fields.push_back({key.c_str(), RTE_SWX_TABLE_MATCH_EXACT});
    auto list = pointers(actions);
    rte_swx_pipeline_table_params params = {};
    params.fields = fields.data(), params.n_fields = static_cast<uint32_t>(fields.size());
    params.action_names = list.data(), params.n_actions = static_cast<uint32_t>(list.size());
    params.default_action_name = fallback.c_str();
    check(rte_swx_pipeline_table_config(pipeline_, name.c_str(), &params, nullptr, nullptr, size));
  }
  void apply() {
    const auto lines = instructions();
    auto list = pointers(lines);
    check(rte_swx_pipeline_instructions_config(pipeline_, list.data(), static_cast<uint32_t>(list.size())));
  }

  rte_swx_pipeline* pipeline_;
  std::istringstream in_;
  std::string text_;
  unsigned line_ = 0;
};

}  // namespace

void build_from_spec(rte_swx_pipeline* pipeline, const std::string& text) { Reader(pipeline, text).read(); }

}  // namespace l3dml::bench
