// What a person sees while a lab runs: a stage, a progress bar, a table at the end. Standard error, so that
// standard output stays for results; plain lines where it is not a terminal.
#pragma once

#include <chrono>
#include <string>

#include "tools/lab/workers.h"
#include "tools/report/report.h"

namespace l3dml::lab {

class Terminal {
 public:
  explicit Terminal(std::string title);
  ~Terminal();
  void stage(const std::string& text);
  void progress(const Progress& progress);

 private:
  void line(const std::string& text);

  std::string title_;
  bool tty_;
  bool open_ = false;  // the cursor stands at the end of a line that will be overwritten
  Progress last_;
  std::chrono::steady_clock::time_point began_;
};

// The figures people look for first, one column per run.
std::string summary(const report::Report& report);

}  // namespace l3dml::lab
