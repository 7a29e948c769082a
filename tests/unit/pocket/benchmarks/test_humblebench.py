"""The pocket edition's file: format, balance and digest."""

import io
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from known_unknowns_pocket.benchmarks import humblebench

SEED, IMAGES = 1, 24


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return humblebench.build(tmp_path_factory.mktemp("pocket"), seed=SEED, images=IMAGES)


@pytest.fixture(scope="module")
def rows(path):
    return pq.read_table(path).to_pylist()


def test_columns_are_humblebenchs(path):
    assert path.name == "train-00000-of-00001.parquet"
    schema = pq.read_schema(path)
    assert schema.names == ["image", "question_id", "question", "label", "type"]
    assert schema.field("image").type == pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    assert [schema.field(name).type for name in schema.names[1:]] == [pa.int64(), *[pa.string()] * 3]
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    assert list(path.parent.iterdir()) == [path]


def test_types_and_letters_are_even(rows):
    assert Counter(row["type"] for row in rows) == dict.fromkeys(("Object", "Relation", "Attribute"), 40)
    for question_type in ("Object", "Relation", "Attribute"):
        letters = Counter(row["label"] for row in rows if row["type"] == question_type)
        assert letters == dict.fromkeys("ABCDE", 8)


def test_digest_follows_content_and_not_encoding(tmp_path):
    path = humblebench.build(tmp_path / "built", seed=2, images=2, questions_per_image=3)
    digest = humblebench.content_digest(path)
    rows = pq.read_table(path).to_pylist()

    def rewritten(change):
        changed = [change({**row, "image": dict(row["image"])}) for row in rows]
        other = tmp_path / "other.parquet"
        pq.write_table(pa.Table.from_pylist(changed, schema=humblebench.PARQUET_SCHEMA), other, compression="snappy")
        return humblebench.content_digest(other)

    def with_image(row, edit):
        image = Image.open(io.BytesIO(row["image"]["bytes"]))
        encoded = io.BytesIO()
        edit(image).save(encoded, format="PNG", compress_level=1)
        row["image"]["bytes"] = encoded.getvalue()
        return row

    def dot(image):
        image.putpixel((0, 0), (1, 2, 3))
        return image

    assert rewritten(lambda row: row) == digest
    assert rewritten(lambda row: with_image(row, lambda image: image)) == digest
    changes = [
        lambda row: with_image(row, dot),
        lambda row: row | {"label": "A" if row["label"] != "A" else "B"},
        lambda row: row | {"question": row["question"] + " "},
        lambda row: row | {"question_id": row["question_id"] + 1},
        lambda row: row | {"type": "Object"},
        lambda row: row | {"image": row["image"] | {"path": "images/other.png"}},
    ]
    digests = [rewritten(change) for change in changes]
    assert len({digest, *digests}) == len(changes) + 1
    with pytest.raises(ValueError, match="HumbleBench"):
        pq.write_table(pa.table({"question": ["?"]}), tmp_path / "foreign.parquet")
        humblebench.content_digest(tmp_path / "foreign.parquet")
