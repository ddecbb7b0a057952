// The two lines that every function here with several fallible steps needs.
#pragma once

#include "absl/status/status.h"

#define L3DML_RETURN_IF_ERROR(expr)                     \
  do {                                                  \
    if (absl::Status status_ = (expr); !status_.ok()) { \
      return status_;                                   \
    }                                                   \
  } while (false)
