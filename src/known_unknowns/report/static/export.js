// Export of a table as CSV, LaTeX or Markdown, and files that the reader saves.
"use strict";
(() => {
  const joined = ({ value, low, high, n, note }) =>
    value + (low ? ` [${low}, ${high}]` : "") + (n ? ` (n = ${n})` : "") + (note ? `, ${note}` : "");
  const undash = (value) => (value === "\u2013" ? "" : value);
  const full = ({ rows, foot }) => [...rows.filter(Array.isArray), ...foot];
  const slug = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);

  // CSV has the bounds, n and notes in columns of their own, and the caveat in the last one.
  function csv(table) {
    const rows = full(table);
    const has = (index, name) => rows.some((row) => row[index][name]);
    const columns = table.heads.flatMap((head, index) => [
      [head, index, "value"],
      ...["low", "high", "n", "note"].filter((name) => has(index, name)).map((name) => [`${head}, ${name}`, index, name]),
    ]);
    const quoted = (value) => {
      const safe = /^[=@\t\r]|^[+-](?![\d.])/.test(value) ? `'${value}` : value; // no formula in a spreadsheet
      return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const lines = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, i, name]) => undash(row[i][name])))];
    if (table.caveat) lines.forEach((line, place) => line.push(place ? table.caveat : "caveat"));
    return { ending: "csv", type: "text/csv", content: lines.map((line) => line.map(quoted).join(",") + "\n").join("") };
  }

  const LATEX = {
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\u2013": "--", "\u00b1": "$\\pm$",
    "<": "\\textless{}", ">": "\\textgreater{}", "\u00d7": "$\\times$", "\u2264": "$\\leq$", "\u2265": "$\\geq$",
    "\u201c": "``", "\u201d": "''", "\u2019": "'", "\u2026": "\\dots{}", "\u00b7": "$\\cdot$", "\u00a0": "~", "\u2212": "$-$",
  };
  const escaped = (value) => value.replace(/[\\~^\u2013\u00b1<>\u00d7\u2264\u2265\u201c\u201d\u2019\u2026\u00b7\u00a0\u2212]|[&%$#_{}]/g,
    (c) => LATEX[c] || `\\${c}`).replace(/^\[/, "{[}"); // a bracket after \\ would be its argument

  // A table with the rules of booktabs: groups of columns, headings over rows, notes and the caveat below.
  function latex({ caption, own, groups, rows, foot, notes, caveat, corner }) {
    const mark = (text) => (text ? `$^{${escaped(text)}}$` : "");
    const cell = (part) => (part.repeated ? "" : escaped(part.value) + mark(part.mark) + escaped(joined({ ...part, value: "" })));
    const line = (cells) => `${cells.join(" & ")} \\\\\n`;
    const spans = [];
    groups.forEach((text, index) => {
      const last = spans.at(-1);
      if (last && last.text === text) last.end = index + 1;
      else spans.push({ text, start: index + 1, end: index + 1 });
    });
    const over = spans.map(({ text, start, end }) => (text ? `\\multicolumn{${end - start + 1}}{c}{${escaped(text)}}` : " &".repeat(end - start)));
    const rules = spans.filter(({ text }) => text).map(({ start, end }) => `\\cmidrule(lr){${start}-${end}}`);
    const body = rows.map((row) => (Array.isArray(row) ? line(row.map(cell))
      : `\\addlinespace\n\\multicolumn{${own.length}}{l}{\\emph{${escaped(row)}}} \\\\\n`));
    const below = [...notes.map((note) => [mark(note.mark), escaped(note.text)].filter(Boolean).join(" ")),
      ...(caveat ? [`\\textbf{${escaped(caveat)}}`] : [])];
    const content = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n"
      + `\\caption{${escaped(caption)}}\n\\label{tab:${slug(caption)}}\n`
      + `\\begin{tabular}{@{}${"l".repeat(corner)}${"r".repeat(own.length - corner)}@{}}\n\\toprule\n`
      + (rules.length ? `${line(over)}${rules.join(" ")}\n` : "") + `${line(own.map(escaped))}\\midrule\n${body.join("")}`
      + (foot.length ? `\\midrule\n${foot.map((row) => line(row.map(cell))).join("")}` : "")
      + "\\bottomrule\n\\end{tabular}\n"
      + (below.length ? `\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize\n${below.join("\\par\n")}\n\\end{minipage}\n` : "")
      + "\\end{table}\n";
    return { ending: "tex", type: "application/x-tex", content };
  }

  function markdown(table) {
    const { heads, corner, caveat } = table;
    const escaped = (value) => value.replace(/[\\|<>*_`[\]]/g, "\\$&").replace(/\\(?=[[\]][^|]*$)/g, "\\");
    const line = (cells) => `| ${cells.map(escaped).join(" | ")} |\n`;
    const rule = `|${heads.map((_, index) => (index < corner ? " --- |" : " ---: |")).join("")}\n`;
    const content = line(heads) + rule + full(table).map((row) => line(row.map(joined))).join("") + (caveat ? `\n${escaped(caveat)}\n` : "");
    return { ending: "md", type: "text/markdown", content };
  }

  function save({ content, type, ending }, name) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const file = `${slug(name)}.${ending}`;
    KnownUnknowns.element("a", { href: url, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  Object.assign(KnownUnknowns, { formats: { CSV: csv, LaTeX: latex, Markdown: markdown }, save });
})();
