"""Processors that need torchvision for videos, with and without torchvision."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from tests.paths import ROOT
from tests.unit.engines import tiny
from tests.unit.engines.tiny import entry


def save(processor, folder: Path) -> None:
    """The parts of a processor as a repository holds them; the whole cannot be saved without the part for videos."""
    for part in (processor.tokenizer, processor.image_processor):
        part.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(processor.chat_template)
    names = inspect.signature(type(processor).__init__).parameters
    settings = {name: vars(processor).get(name) for name in names if isinstance(vars(processor).get(name), (int, str))}
    (folder / "processor_config.json").write_text(json.dumps(settings))


def build(name: str, folder: Path):
    """Write the checkpoint as it lies on the hub, without a word of ours. Returns its processor, made by hand."""
    tiny.build(name, folder)
    made = tiny.CHECKPOINTS[name].make()[1]
    save(made, folder)
    return made


def replies(engine: TransformersEngine) -> list[str]:
    image = recipe_image("normal-noise", 32, 48, 1)
    asked = Turn("q", "answer", (image, "What colour?\nA. Red"), ("A",), max_new_tokens=4)
    return [reply.text for batch in engine.answer([asked], folder=Path()) for _, reply in batch]


@pytest.mark.parametrize("name", ["qwen3-vl", "smolvlm", "mistral3"])
def test_a_model_is_loaded_without_the_part_for_videos(name, tmp_path):
    """Its prompts equal those of the processor that is built by hand."""
    made = build(name, tmp_path)
    loaded = TransformersEngine(name, entry(tmp_path))
    assert replies(loaded) == replies(tiny.engine(name, tmp_path))
    assert type(loaded.checkpoint.processor).__name__ == type(made).__name__


STAND_IN = {
    "__init__.py": "__version__ = '0.28.0'\n",
    "io.py": "",
    "transforms/__init__.py": """
from enum import Enum
InterpolationMode = Enum("InterpolationMode", "NEAREST NEAREST_EXACT BILINEAR BICUBIC BOX HAMMING LANCZOS")
""",
    "transforms/functional.py": """
def pil_to_tensor(image):
    raise RuntimeError("torchvision was asked to prepare an image")
""",
    "transforms/v2/__init__.py": "",
    "transforms/v2/functional.py": """
from torchvision.transforms import InterpolationMode
def __getattr__(name):
    raise RuntimeError(f"torchvision was asked for {name}")
""",
}
"""What transformers imports of torchvision to make a part for videos. No image may be prepared by it."""
VIDEOS = {"qwen2.5-vl": "Qwen2VLVideoProcessor", "internvl": "InternVLVideoProcessor"}


@pytest.fixture(scope="module")
def with_torchvision(tmp_path_factory) -> dict[str, str]:
    """The variables of a process that finds a torchvision: this machine's, or a stand-in for it."""
    paths = [str(ROOT), str(ROOT / "src")]
    if find_spec("torchvision") is None:
        package = tmp_path_factory.mktemp("packages") / "torchvision"
        for name, code in STAND_IN.items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(code)
        paths.append(str(package.parent))
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def test_with_torchvision_the_backend_selects_the_processor(with_torchvision, tmp_path):
    """Installing it must not change what a model is shown: with the PIL backend all is as it was. With torchvision's
    own the processor is whole, with its part for videos."""
    expected = {}
    for name, videos in VIDEOS.items():
        build(name, tmp_path / name)
        (tmp_path / name / "video_preprocessor_config.json").write_text(json.dumps({"video_processor_type": videos}))
        said = replies(TransformersEngine(name, entry(tmp_path / name)))
        expected[name] = {"replies": said, "backends": ["pil", "torchvision"], "videos": videos}
    code = """
import json, sys
from pathlib import Path
from transformers.utils import is_torchvision_available
from tests.unit.engines.test_processors import TransformersEngine, entry, replies
assert is_torchvision_available()
told = {}
for folder in map(Path, sys.argv[1:]):
    pil = TransformersEngine(folder.name, entry(folder))
    whole = TransformersEngine(folder.name, entry(folder, image_backend="torchvision"))
    told[folder.name] = {
        "replies": replies(pil),
        "backends": [engine.facts["image_backend"] for engine in (pil, whole)],
        "videos": type(whole.checkpoint.processor.video_processor).__name__,
    }
print(json.dumps(told))
"""
    command = [sys.executable, "-c", code, *(str(tmp_path / name) for name in VIDEOS)]
    done = subprocess.run(command, env=with_torchvision, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
