// What a table of the pipeline takes: widths of key fields and of the parameters of each action an entry may
// have. A program's bf-rt.json must say the same.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace l3dml::tna {

struct TableShape {
  std::vector<unsigned> key;                             // bits, in schema order
  std::map<std::string, std::vector<unsigned>> actions;  // name -> bits of its parameters
};

}  // namespace l3dml::tna
