/* What the library says of itself, and what a view shows of a model. */
#include <ctype.h>

#include "models.h"

static void test_version(hr_env* env) {
  (void)env;
  EXPECT(hr_api_version() == HR_API_VERSION);
  EXPECT(isdigit(hr_version_text()[0]) && strchr(hr_version_text(), '.') != NULL);
  EXPECT(hr_version_text() == hr_version_text());
}

static int shows(const hr_model* model, const hr_graph_view* view, const char* word) {
  hr_text* text;
  CHECK(hr_model_view(model, "json", view, &text));
  const int found = strstr(hr_text_data(text), word) != NULL;
  hr_text_release(text);
  return found;
}

/* "infer" needs no loss. */
static void test_views(hr_env* env) {
  hr_model* model = make_mlp(env);
  hr_graph_view view = {.struct_size = sizeof view, .signature = "infer"};
  hr_text *whole, *text;
  EXPECT(shows(model, NULL, "\"loss\"") && !shows(model, &view, "\"loss\""));
  EXPECT(shows(model, &view, "\"scores\""));
  view.signature = "train";
  EXPECT(shows(model, &view, "\"loss\""));
  view.signature = "no such signature";
  FAILS(hr_model_view(model, "json", &view, &text), HR_NOT_FOUND, "no such signature");
  view = (hr_graph_view){.struct_size = sizeof view, .graph = 99};
  FAILS(hr_model_view(model, "json", &view, &text), HR_OUT_OF_RANGE, "no graph 99");
  view.graph = 0;
  CHECK(hr_model_graph_text(model, "json", &whole));
  CHECK(hr_model_view(model, "json", &view, &text));
  EXPECT(strcmp(hr_text_data(text), hr_text_data(whole)) == 0);
  hr_text_release(text);
  hr_text_release(whole);
  hr_model_release(model);
}

const test tests[] = {{"version", test_version}, {"views", test_views}, {NULL, NULL}};
