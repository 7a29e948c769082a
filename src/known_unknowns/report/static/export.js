// Export of a table as CSV, LaTeX or Markdown, and files that the reader saves.
"use strict";
(() => {
  const joined = ({ value, low, high, n }) =>
    value + (low ? ` [${low}, ${high}]` : "") + (n ? ` (n = ${n})` : "");

  // CSV has the bounds and n in columns of their own.
  function csv({ heads, rows }) {
    const has = (index, name) => rows.some((row) => row[index][name]);
    const columns = heads.flatMap((head, index) => [
      [head, index, "value"],
      ...(has(index, "low") ? [[`${head}, low`, index, "low"], [`${head}, high`, index, "high"]] : []),
      ...(has(index, "n") ? [[`${head}, n`, index, "n"]] : []),
    ]);
    const quoted = (value) => {
      const safe = /^[=@\t\r]|^[+-](?![\d.])/.test(value) ? `'${value}` : value; // no formula in a spreadsheet
      return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const lines = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, i, name]) => undash(row[i][name])))];
    return { ending: "csv", type: "text/csv", content: lines.map((line) => line.map(quoted).join(",") + "\n").join("") };
  }

  const undash = (value) => (value === "\u2013" ? "" : value);

  const LATEX = {
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\u2013": "--", "\u00b1": "$\\pm$",
    "<": "\\textless{}", ">": "\\textgreater{}",
  };

  function latex({ caption, heads, rows, corner }) {
    const escaped = (value) => value.replace(/[\\~^\u2013\u00b1<>]|[&%$#_{}]/g, (c) => LATEX[c] || `\\${c}`);
    const line = (cells) => `${cells.map(escaped).join(" & ")} \\\\\n`;
    const columns = "l".repeat(corner) + "r".repeat(heads.length - corner);
    const content = `% needs \\usepackage{booktabs}\n\\begin{table}\n\\caption{${escaped(caption)}}\n\\begin{tabular}{${columns}}\n`
      + `\\toprule\n${line(heads)}\\midrule\n${rows.map((row) => line(row.map(joined))).join("")}`
      + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
    return { ending: "tex", type: "application/x-tex", content };
  }

  function markdown({ heads, rows, corner }) {
    const escaped = (value) => value.replace(/[\\|<>*_`[\]]/g, "\\$&").replace(/\\(?=[[\]][^|]*$)/g, "\\");
    const line = (cells) => `| ${cells.map(escaped).join(" | ")} |\n`;
    const rule = `|${heads.map((_, index) => (index < corner ? " --- |" : " ---: |")).join("")}\n`;
    return {
      ending: "md", type: "text/markdown", content: line(heads) + rule + rows.map((row) => line(row.map(joined))).join(""),
    };
  }

  function save({ content, type, ending }, name) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const file = `${name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60)}.${ending}`;
    KnownUnknowns.element("a", { href: url, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  Object.assign(KnownUnknowns, { formats: { CSV: csv, LaTeX: latex, Markdown: markdown }, save });
})();
