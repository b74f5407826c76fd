#include "policy/shield/corpus.h"

namespace cordon::policy::shield {

std::string_view holds_name(Holds holds) {
  switch (holds) {
    case Holds::kNothing:
      return "";
    case Holds::kCredentials:
      return "credentials";
    case Holds::kPrivateData:
      return "private-data";
    case Holds::kHistory:
      return "history";
    case Holds::kPersistence:
      return "persistence";
    case Holds::kServices:
      return "services";
  }
  return "";
}

}  // namespace cordon::policy::shield
