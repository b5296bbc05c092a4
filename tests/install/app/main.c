#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

/* main.c MODEL: how many inputs it has. */
int main(int argc, char** argv) {
  const tenon_api* api = tenon_get_api(TENON_API_VERSION);
  tenon_error error = {.struct_size = sizeof error};
  tenon_session* session = NULL;
  tenon_str path = {argv[argc - 1], strlen(argv[argc - 1])};
  if (api->session_create(path, NULL, NULL, &session, &error) != TENON_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("%u inputs\n", (unsigned)api->session_input_count(session));
  api->session_release(session);
  return 0;
}
