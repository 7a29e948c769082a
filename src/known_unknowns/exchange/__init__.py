"""Exchange of predictions with other tools: `rescore`, `import_predictions` and `export`.

- `rescore` computes every metric of predictions in a file, without the workflow.
- `import_predictions` adds predictions to the results as a model.
- `export` writes the replies of a model in the file format of another tool.

The files are parsed by `reader` and matched with questions by `matching`. The questions come from the predictions
(`embedded_questions`) or from annotations (`annotations`). `reader` has the table of formats, `harness_logs` expands
logs of other harnesses, and `writers` write files. `results` computes the metrics and `output` prints them.
"""

from known_unknowns.exchange.export import cell_tables, export
from known_unknowns.exchange.import_predictions import import_predictions
from known_unknowns.exchange.rescore import rescore

__all__ = ["cell_tables", "export", "import_predictions", "rescore"]
