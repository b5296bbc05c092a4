"""Configs, exceptions and providers."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import tenon
from models import FLOAT, model, one_node, tensor
from onnx import helper
from tenon._config import toml

X = np.ones((1, 4), np.float32)


def test_a_config_is_a_dict_a_file_or_an_object(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text("schema = 1\n[threads]\ncount = 1\n[select]\norder = ['cpu']\n")
    flat = {"threads.count": 1, "select.order": ["cpu"]}
    nested = {"schema": 1, "threads": {"count": 1}, "select": {"order": ["cpu"]}}
    for config in (path, str(path), flat, nested, tenon.Config(nested), tenon.Config(path=path)):
        assert tenon.Session(one_node("Relu"), config).instances[0].name == "cpu/cpu:0"
    described = tenon.Config(flat).describe()
    assert described["threads.count"]["value"] == 1 and "application" in described["threads.count"]["origin"]
    above = tenon.Config({"threads": {"count": 3}}, path=path)
    above.set("select.fallback", "next")
    assert above.describe()["threads.count"]["value"] == 3 and above.describe()["select.fallback"]["value"] == "next"


def test_a_config_in_memory():
    config = tenon.Config.from_text("schema = 1\n[threads]\ncount = 2\n", "mine.toml")
    assert config.describe()["threads.count"]["value"] == 2 and "mine.toml" in config.describe()["threads.count"]["origin"]
    assert tenon.Config.from_text('{"schema": 1, "threads": {"count": 3}}').describe()["threads.count"]["value"] == 3
    with pytest.raises(tenon.ConfigError, match="mine.toml:2"):
        tenon.Config.from_text("schema = 1\nthreds = 1\n", "mine.toml")


def test_rules_of_placement():
    config = {"select": {"order": ["cpu"]}, "placement": [{"match": {"op": ["Relu"]}, "provider": "cpu"}]}
    assert tenon.Session(one_node("Relu"), config).run({"x0": X})["y"].tolist() == [[1] * 4]


@pytest.mark.parametrize(
    "config,match",
    [
        ({"select": {"ordr": ["cpu"]}}, "did you mean 'select.order'"),
        ({"threads": {"count": "many"}}, "threads.count"),
        ({"threads": {"count": object()}}, "bool, number, str, list or dict"),
        ({"select.fallback": "sometimes"}, "select.fallback"),
    ],
)
def test_wrong_configs(config, match):
    with pytest.raises(tenon.ConfigError, match=match) as caught:
        tenon.Session(one_node("Relu"), config)
    assert isinstance(caught.value, ValueError) and caught.value.kind == "config"


def test_toml():
    import tomllib

    value = {"a": ["x\ty\"\\\n\x7fé", 1, 2.5, True, {"k.k": [-1, 1e300]}]}
    assert tomllib.loads(f"v = {toml(value)}")["v"] == value


def test_check_and_schema(tmp_path):
    assert tenon.Config({"select": {"order": ["cpu"]}}).check()["errors"] == []
    assert "nothere" in json.dumps(tenon.Config({"select": {"order": ["nothere"]}}).check()["errors"])
    assert tenon.config_schema()["properties"]["threads"]
    with pytest.raises(tenon.ConfigError) as caught:
        path = tmp_path / "bad.toml"
        path.write_text("schema = 1\n[threads]\ncuont = 1\n")
        tenon.Config(path=path)
    assert "bad.toml:3" in str(caught.value)


def test_kinds_of_exceptions(tmp_path):
    cases = [
        (tenon.InvalidModelError, lambda: tenon.Session(b"nothing")),
        (tenon.InvalidInputError, lambda: tenon.Session(tmp_path / "absent.onnx")),
        (tenon.InvalidInputError, lambda: tenon.Session(12)),
        (tenon.ConfigError, lambda: tenon.Session(one_node("Relu"), {"select": {"order": ["nothere"]}})),
        (tenon.UnsupportedError, lambda: tenon.Session(model([helper.make_node("NoSuch", ["x"], ["y"], "bad", domain="com.acme")], [tensor("x")], [tensor("y")]))),
        (tenon.LimitError, lambda: tenon.Session(one_node("Relu"), {"limits": {"model_bytes": "10B"}})),
    ]
    for kind, call in cases:
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, tenon.Error) and caught.value.status != 0 and caught.value.cause


def test_an_error_names_its_node():
    bad = model([helper.make_node("Reshape", ["x", "s"], ["y"], "re")], [tensor("x"), tensor("s", 7, ["K"])], [tensor("y", FLOAT, None)])
    with pytest.raises(tenon.Error) as caught:
        tenon.Session(bad).run({"x": X, "s": np.array([3], np.int64)})
    assert (caught.value.node, caught.value.op_type, caught.value.model) == ("re", "Reshape", "model in memory")


def test_an_error_names_a_refused_provider(tmp_path):
    (tmp_path / "acme.tenon.json").write_text("{")
    config = {"discovery.search": [str(tmp_path)], "select.order": ["acme", "cpu"]}
    with pytest.raises(tenon.Error) as caught:
        tenon.Session(one_node("Relu"), config)
    assert caught.value.cause


def test_errors_are_pickled():
    with pytest.raises(tenon.Error) as caught:
        tenon.Session(b"nothing")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is tenon.InvalidModelError and str(again) == str(caught.value) and again.where == caught.value.where


def test_providers(tmp_path):
    found = {p.id: p for p in tenon.providers() if p.verdict == "usable"}
    assert found["cpu"].details["devices"][0]["kind"] == "cpu"
    config = tenon.Config({"discovery": {"search": [str(tmp_path)]}})
    (tmp_path / "broken.tenon.json").write_text("{")
    broken = [p for p in tenon.providers(config, scan=False) if "broken" in p.manifest]
    assert broken[0].verdict == "refused" and broken[0].code.startswith("E_") and broken[0].cure


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError):
        tenon.Session(one_node("Relu"), provider="cpu")
    session = tenon.Session(one_node("Relu"))
    for call in (lambda: session.run({"x0": X}, cancel=1), lambda: session.run({"x0": X}, timeout="1"), lambda: session.run({1: X}), lambda: session.run([X])):
        with pytest.raises((TypeError, ValueError)):
            call()
