// One line per event on standard error, "HH:MM:SS.mmm LEVEL text". Slow path only.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace l3dml::app {

enum class LogLevel : uint8_t { error, warning, info, debug };

class Log {
 public:
  explicit Log(const std::string& level)
      : level_(level == "error"     ? LogLevel::error
               : level == "warning" ? LogLevel::warning
               : level == "debug"   ? LogLevel::debug
                                    : LogLevel::info) {}
  void error(const std::string& text) const { write(LogLevel::error, "error", text); }
  void warning(const std::string& text) const { write(LogLevel::warning, "warning", text); }
  void info(const std::string& text) const { write(LogLevel::info, "info", text); }
  void debug(const std::string& text) const { write(LogLevel::debug, "debug", text); }

 private:
  void write(LogLevel level, const char* name, const std::string& text) const {
    if (level > level_) return;
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    tm parts;
    localtime_r(&now.tv_sec, &parts);
    std::fprintf(stderr, "%02d:%02d:%02d.%03ld %s %s\n", parts.tm_hour, parts.tm_min, parts.tm_sec,
                 now.tv_nsec / 1000000, name, text.c_str());
  }
  LogLevel level_;
};

}  // namespace l3dml::app
