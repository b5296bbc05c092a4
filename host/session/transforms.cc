#include "host/session/transforms.h"

#include "host/base/text.h"
#include "host/device/evaluator.h"
#include "host/session/load.h"

namespace tenon::session {

Result<transform::Options> transforms_of(const config::Settings& settings, transform::Evaluator evaluator) {
  transform::Options options;
  options.evaluator = std::move(evaluator);
  options.fold_bytes = limits_of(settings).fold_bytes;
  std::vector<std::string> names;
  for (const transform::Transform& each : transform::transforms()) names.push_back(each.name);
  for (const std::string& pattern : settings.transforms.disable) {
    bool found = false;
    for (const std::string& name : names) {
      if (!glob_match(pattern, name)) continue;
      options.enabled[name] = false;
      found = true;
    }
    if (!found) {
      return config_error("transforms.disable names '", pattern, "', but there is no such transform",
                          suggestion(pattern, names));
    }
  }
  return options;
}

Status transform_model(ir::Model* model, const config::Settings& settings,
                       const runtime::Selection& selection) {
  std::shared_ptr<runtime::NodeRunner> runner;
  if (const std::shared_ptr<runtime::Instance> completing = selection.completing()) {
    runner = std::make_shared<runtime::NodeRunner>(completing, model->opset_imports);
  }
  ASSIGN_OR_RETURN(const transform::Options transforms,
                   transforms_of(settings, runtime::make_evaluator(std::move(runner))));
  return transform::run_pipeline(model->graph, *model, transforms).status();
}

}  // namespace tenon::session
