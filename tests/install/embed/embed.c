#include <headrace/headrace.h>
#include <stdio.h>
int main(void) {
  printf("%d\n", hr_api_version());
  return 0;
}
