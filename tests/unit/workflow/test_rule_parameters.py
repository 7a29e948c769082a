"""Parameters of rules: what they contain decides what is run again."""

from known_unknowns.workflow import configuration, rule_parameters
from tests.paths import ROOT


def test_scorers_are_a_parameter_of_inference_only_where_they_decide_what_is_asked():
    params = configuration.load(ROOT / "params.yaml")
    assert rule_parameters.refusal_scorers(params, "humblebench") == []
    assert rule_parameters.refusal_scorers(params, "mmsap") == ["likelihood", "official", "robust"]
    assert rule_parameters.refusal_scorers(params, "actiview") == []


def test_the_code_of_an_engine_reruns_its_own_models_only():
    params = configuration.load(ROOT / "params.yaml")
    code = {name: rule_parameters.engine_code(params, name, "mmsap") for name in ("oracle", "uniform", "pocket")}
    assert code["oracle"] == code["uniform"] != code["pocket"]
