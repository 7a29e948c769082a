"""Parameters of rules: what they contain decides what is run again."""

from known_unknowns.workflow import configuration, rule_parameters
from tests.paths import ROOT


def test_the_code_of_an_engine_reruns_its_own_models_only():
    params = configuration.load(ROOT / "params.yaml")
    code = {name: rule_parameters.engine_code(params, name, "mmsap") for name in ("oracle", "uniform", "pocket")}
    assert code["oracle"] == code["uniform"] != code["pocket"]


def test_the_files_of_a_model_are_those_of_its_folder_and_of_its_own_adapter(tmp_path):
    params = configuration.load(ROOT / "params.yaml")
    files = {
        "model.safetensors",
        "one/adapter_config.json",
        "one/weights",
        "two/adapter_config.json",
        "templates/a.jinja",
    }
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    base = params.raw["models"]["pocket"] | {"source": str(tmp_path)}
    raw = params.raw | {"models": {"plain": base, "adapted": base | {"adapter": "one"}}}
    found = {name: rule_parameters.weights(type(params)(raw), name) for name in ("plain", "adapted")}
    shared = {str(tmp_path / file) for file in ("model.safetensors", "templates/a.jinja")}
    assert set(found["plain"]) == shared
    assert set(found["adapted"]) == shared | {
        str(tmp_path / "one" / file) for file in ("adapter_config.json", "weights")
    }
