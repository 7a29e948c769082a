"""Import the released replies of all models to a benchmark that are out of date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns.data.released import MANIFEST
from known_unknowns.data.released_cells import answered_as, is_imported_from, released_entry
from known_unknowns.data.up_to_date import UpToDate
from known_unknowns.errors import DataError, KnownUnknownsError
from known_unknowns.exchange.released import fetched_files, import_released
from known_unknowns.progress import progress

if TYPE_CHECKING:
    from known_unknowns.config import Params


def import_models(
    params: Params, benchmark: str, *, raw: Path, questions: Path, out: Path, up_to_date: UpToDate
) -> None:
    """Apply `import_released` to every model with released replies to the benchmark.

    The replies of one model are kept if its inputs have not changed: the fetched files, the questions and the entries.
    An error in one model's replies does not stop the others.

    Parameters
    ----------
    params : Params
    benchmark : str
    raw : Path
        The folder of fetched files.
    questions : Path
        The benchmark's folder of questions, <variant>/seed<k>.parquet.
    out : Path
        The edition's folder of replies, <model>/<benchmark>/<variant>/seed<k>.parquet.
    up_to_date : UpToDate
        Which files are up to date.

    Raises
    ------
    ConfigError
        If the benchmark's data are not released replies.
    DataError
        If the files were not fetched. After all models, if the replies of some could not be imported: it names each
        model and its file.
    """
    released_entry(params, benchmark)
    fetched = [raw / MANIFEST, *(raw / file.place for file in fetched_files(params, benchmark, raw))]
    failed: list[str] = []
    models = [model for model in params.models if is_imported_from(params, model, benchmark)]
    with progress("importing", len(models)) as advance:
        for model in models:
            cells = [Path(variant) / f"seed{seed}.parquet" for variant, seed in params.cells(benchmark, model)]
            asked = {
                f"{answered_as(params, benchmark, variant)}/seed{seed}.parquet"
                for variant, seed in params.cells(benchmark, model)
            }
            folder = out / model / benchmark
            written = [*(folder / cell for cell in cells), folder / "engine.json"]
            settings = [params.raw["models"][model], params.data(benchmark).as_dict(), [str(cell) for cell in cells]]
            tables = [questions / name for name in sorted(asked | {str(cell) for cell in cells})]
            inputs = up_to_date.digest_of([*fetched, *tables], settings)
            if not all(up_to_date.keep(file, inputs) for file in written):
                try:
                    import_released(params, model, benchmark, raw=raw, questions=questions, out=folder)
                except (KnownUnknownsError, OSError) as error:
                    failed.append(f"{model}: {error}")
                else:
                    for file in written:
                        up_to_date.add(file, inputs)
            advance(1)
    if failed:
        message = f"the replies of {len(failed)} of {len(models)} models could not be imported\n" + "\n".join(failed)
        raise DataError(message, file=raw)
    up_to_date.succeed()
