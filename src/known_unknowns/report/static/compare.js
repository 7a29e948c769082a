// Two models side by side: the pairs of the chosen models, from the data in the page.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const holder = document.getElementById("pair-data");
  if (!holder) return;
  const { element, enhance } = KnownUnknowns;
  const data = JSON.parse(holder.textContent);
  const selects = ["model-a", "model-b"].map((id) => document.getElementById(id));
  const place = Object.fromEntries(data.fields.map((name, index) => [name, index + 3]));
  const DASH = "\u2013";
  const percent = (value, sign) =>
    value === null ? DASH : `${sign && value >= 0 ? "+" : ""}${(100 * value).toFixed(1)}`.replace(/^([+-])?-?0\.0$/, "$10.0");
  const probability = (p) => (p === null ? DASH : p < 0.0001 ? "<0.0001" : p.toFixed(4));

  // The pair as seen from the first chosen model.
  function oriented(row, swap) {
    const get = (name) => row[place[name]];
    const negative = (value) => (value === null ? null : -value);
    const pair = Object.fromEntries(data.fields.map((name) => [name, get(name)]));
    if (swap) {
      [pair.accuracy_a, pair.accuracy_b] = [pair.accuracy_b, pair.accuracy_a];
      pair.difference = negative(pair.difference);
      [pair.low, pair.high] = [negative(pair.high), negative(pair.low)];
    }
    return pair;
  }

  function result(pair, [a, b]) {
    if (pair.p_holm === null || pair.difference === null) return DASH;
    if (pair.p_holm > data.level) return "cannot be distinguished";
    return `${pair.difference > 0 ? a : b} is better`;
  }

  function questions(pair, dual) {
    const noun = `${dual ? "answerable " : ""}question${pair.n === 1 ? "" : "s"}`;
    return `${pair.n} ${noun}${pair.seeds > 1 ? ` \u00d7 ${pair.seeds} seeds` : ""}`;
  }

  function cell(value, bounds, title) {
    const made = element("td", { class: "number stacked", title }, element("span", { class: "value" }, value));
    if (bounds) made.append(" ", element("span", { class: "interval bounds" }, bounds));
    return made;
  }

  function line(row, names, swap) {
    const [benchmark, title, variant, parts] = data.variants[row[0]];
    const pair = oriented(row, swap);
    const bounds = pair.low === null ? "" : `[${percent(pair.low, true)}, ${percent(pair.high, true)}]`;
    const link = (part, text) =>
      element("a", { href: `questions.html#${new URLSearchParams({ benchmark, variant: part.variant, model: names[0], other: names[1] })}` }, text);
    const links = parts.length === 1 ? [link(parts[0], "differing questions")] : parts.flatMap((part) => [link(part, part.title), element("br")]);
    return element("tr", {},
      element("th", { scope: "row" }, element("span", { class: "name" }, title)),
      element("th", { scope: "row" }, element("span", { class: "name" }, variant)),
      element("td", { class: "text" }, element("span", { class: "value" }, result(pair, names))),
      cell(percent(pair.difference, true), bounds),
      cell(percent(pair.accuracy_a)), cell(percent(pair.accuracy_b)),
      cell(probability(pair.p_holm), "", `corrected for ${pair.pairs} pair${pair.pairs === 1 ? "" : "s"}`),
      cell(percent(pair.detectable)),
      cell(questions(pair, parts.length > 1)),
      element("td", {}, ...links));
  }

  function show() {
    const [a, b] = selects.map((select) => select.selectedIndex);
    const names = [data.names[a], data.names[b]];
    const rows = data.rows.filter((row) => (row[1] === a && row[2] === b) || (row[1] === b && row[2] === a));
    const heads = ["Result", "Difference", ...names, "p, corrected", "Detectable difference", "n", "Questions"];
    const counts = { better: 0, worse: 0 };
    for (const row of rows) {
      const pair = oriented(row, row[1] !== a);
      if (pair.p_holm !== null && pair.p_holm <= data.level) counts[pair.difference > 0 ? "better" : "worse"] += 1;
    }
    document.getElementById("compared").textContent = a === b ? "Choose two models."
      : !rows.length ? "These models are not compared: they were not asked the same questions, or too many replies are unusable."
      : `Of ${rows.length} comparisons, ${names[0]} is better in ${counts.better}, ${names[1]} in ${counts.worse}; `
        + `in ${rows.length - counts.better - counts.worse} they cannot be distinguished.`;
    const missing = a === b ? [] : data.missing.filter(([, model]) => names.includes(model));
    document.getElementById("missing-of-pair").replaceChildren(...missing.map(([benchmark, model, reason]) =>
      element("li", {}, `${benchmark} is missing for ${model}: ${reason}.`)));
    const table = element("table", { class: "data" },
      element("caption", {}, `${names[0]} and ${names[1]} on the same questions, in percent`),
      element("thead", {}, element("tr", {}, ...["Benchmark", "Variant", ...heads].map((head) =>
        element("th", { scope: "col", class: "number" }, element("span", { class: "name" }, head))))),
      element("tbody", {}, ...rows.map((row) => line(row, names, row[1] !== a))));
    const scroll = element("div", { class: "scroll", role: "group", tabindex: 0, "aria-label": "Comparison" }, table);
    const target = document.getElementById("pairs");
    target.replaceChildren(...(rows.length ? [element("div", { class: "table-box" }, scroll)] : []));
    enhance(target);
    history.replaceState(null, "", `#${new URLSearchParams({ model: names[0], other: names[1] })}`);
  }

  function follow() {
    const query = new URLSearchParams(location.hash.slice(1));
    ["model", "other"].forEach((key, index) => {
      const found = data.names.indexOf(query.get(key));
      if (found >= 0) selects[index].selectedIndex = found;
    });
    show();
  }

  selects.forEach((select) => select.addEventListener("change", show));
  window.addEventListener("hashchange", follow);
  follow();
});
