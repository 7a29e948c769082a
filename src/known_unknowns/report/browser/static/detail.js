// The open question. Parts that need further shards are added when they are loaded.

const detail = find("detail");
let opening = 0;

async function openDetail(index, values, focus) {
  const token = ++opening;
  const opened = openedOf(values, index);
  document.body.classList.toggle("reading", Boolean(values.question));
  if (!values.question) return undefined; // showList draws the overview
  const other = values.other ? index.at.get(`${modelNumber(values.other)} ${opened.cell}`) : null;
  const entries = [opened.entry, other].filter(Boolean);
  const { shared, question } = await loadQuestion(index, opened.cell, opened.place);
  const rows = await Promise.all(entries.map((entry) => loadReply(index, entry, opened.place)));
  if (token !== opening) return undefined;
  const names = entries.map((entry) => manifest.models[entry[0]][0]);
  const heading = h("h2", { tabindex: -1, id: "question" }, `Question ${plain(opened.question)}`);
  const content = question
    ? questionParts(index, opened, shared, question, names, rows)
    : [h("p", { class: "message" }, `The variant ${plain(opened.variant)} does not have this question.`)];
  detail.replaceChildren(headerPart(index, opened, values, heading), ...content);
  detail.scrollTop = 0;
  if (matchMedia("(max-width: 50rem)").matches) scrollTo(0, 0);
  if (focus) heading.focus({ preventScroll: true });
  if (question) await Promise.all([addModels(index, opened, question, token), addVariants(index, opened, token)]);
  return undefined;
}

function headerPart(index, opened, values, heading) {
  const title = index.cells[opened.cell][1];
  const link = location.href.split("#")[0] + linkTo({ ...opened, other: values.other });
  const copy = h("button", { type: "button", onclick: () => copyLink(link, copy) }, "Copy link");
  return h("header", {},
    h("nav", { class: "steps", "aria-label": "Questions" },
      h("a", { class: "back", href: hashOf({ ...state, question: "" }) }, "Back to the list"),
      h("button", { type: "button", onclick: () => step(-1) }, "Previous"), h("button", { type: "button", onclick: () => step(1) }, "Next"),
      copy),
    heading,
    h("p", { class: "note" }, [plain(described(index.name)[1]), plain(index.categories[index.category[opened.place]]), plain(opened.model),
      `variant: ${plain(title)}`, `seed ${opened.seed}`].join(" · ")));
}

async function copyLink(link, button) {
  try {
    await navigator.clipboard.writeText(link);
    button.textContent = "Copied";
  } catch {
    button.after(h("input", { class: "link", readonly: true, value: link, "aria-label": "Link to this question" }));
    button.nextElementSibling.select();
  }
}

const finalScore = (row, parser, name = "answer") =>
  row?.[1].findLast((score) => score[1] === parser && row[0][score[0]]?.[0] === name) ?? null;

function questionParts(index, opened, shared, question, names, rows) {
  const parser = index.parsers.indexOf(state.parser);
  const chosen = rows.map((row, i) => [names[i], finalScore(row, parser)?.[4] ?? null]);
  return [
    h("section", { class: "asked" }, h("h3", {}, "Question"),
      h("div", { class: "beside" }, imagesPart(shared, question[4].slice(0, 1)),
        h("div", {}, text(question[0]), optionsPart(question, chosen),
          question[2] === null ? h("p", { class: "note" }, "No option is right.") : null))),
    h("div", { class: rows.length > 1 ? "dialogues two" : "dialogues" }, rows.map((row, i) =>
      h("section", { class: "dialogue" }, h("h3", {}, `Reply of ${plain(names[i])}`),
        row ? [summaryPart(row, parser), row[0].map((turn, t) => turnPart(turn, t, row[0].length, row, shared, question, index.parsers)),
          provenancePart(index, { ...opened, model: names[i] }, row, shared, question)]
          : h("p", { class: "note" }, "It was not asked this question.")))),
    names.length ? null : h("p", { class: "note" }, `${plain(opened.model)} was not asked this variant.`),
    h("section", { id: "variants" }, h("h3", {}, "Other variants"), h("p", { class: "note" }, "Loading")),
    h("section", { id: "models" }, h("h3", {}, "Other models"), h("p", { class: "note" }, "Loading")),
  ].filter(Boolean);
}

function summaryPart(row, parser) {
  const score = finalScore(row, parser), forced = finalScore(row, parser, "forced");
  if (!score) return h("p", { class: "note" }, `The ${plain(state.parser)} parser has no result.`);
  return h("p", { class: "summary" }, outcomeMark(score[2]), ` ${OUTCOMES[score[2]]}`,
    score[3] === null ? "" : `, label ${plain(score[3])}`, ` (${plain(state.parser)} parser)`,
    forced ? `; without the refusal option: ${OUTCOMES[forced[2]]}` : "");
}

/** The same question in all variants and seeds, side by side. */
async function addVariants(index, opened, token) {
  const cells = [...index.cells.keys()].filter((cell) => cell !== opened.cell && index.at.has(`${modelNumber(opened.model)} ${cell}`));
  const cards = [];
  const parser = index.parsers.indexOf(state.parser);
  await forAll(cells.map((cell, i) => [cell, i]), async ([cell, i]) => {
    if (token !== opening) return;
    const { shared, question } = await loadQuestion(index, cell, opened.place);
    if (!question) return;
    const row = await loadReply(index, index.at.get(`${modelNumber(opened.model)} ${cell}`), opened.place);
    const score = finalScore(row, parser);
    const [variant, title, seed] = index.cells[cell];
    const last = row?.[0].findLast((turn) => turn[0] === "answer");
    const link = linkTo({ ...opened, variant, seed });
    cards[i] = h("article", { class: "card" },
      h("h4", {}, h("a", { href: link }, plain(title)), index.cells.filter((c) => c[0] === variant).length > 1 ? ` (seed ${seed})` : ""),
      h("p", {}, score ? [outcomeMark(score[2]), ` ${OUTCOMES[score[2]]}`] : "not asked"),
      imagesPart(shared, (last?.[2] ?? question[4]).slice(0, 4)),
      question[0] === opened.text ? null : h("p", { class: "card-text", dir: "auto" }, visible(question[0])),
      optionsPart(question, score && score[4] !== null ? [[opened.model, score[4]]] : []),
      last ? h("pre", { class: "text small", dir: "auto" }, visible(last[5].slice(0, 400) + (last[5].length > 400 ? " …" : ""))) : null);
  }, 4);
  if (token !== opening) return;
  fill("variants", cards.some(Boolean) ? h("div", { class: "cards", tabindex: 0, role: "group", "aria-label": "Other variants" }, cards.filter(Boolean))
    : h("p", { class: "note" }, "There is no other variant of this question."));
}

/** The outcomes of all models for the same variant and seed. */
async function addModels(index, opened, question, token) {
  const parser = index.parsers.indexOf(state.parser);
  const entries = index.replies.filter((entry) => entry[1] === opened.cell);
  const planesOf = (load) => Promise.all(entries.map((entry) => load(index, entry, parser)));
  const [outcomes, answers] = await Promise.all([planesOf(loadOutcomes), planesOf(loadAnswers)]);
  if (token !== opening) return;
  const rows = entries.map((entry, i) => {
    const name = manifest.models[entry[0]][0];
    const option = optionOf(question, answers[i][opened.place]);
    const code = outcomeOf(outcomes[i][opened.place]);
    const beside = name === opened.model ? "this reply"
      : h("a", { href: hashOf({ benchmark: index.name, question: opened.question, model: opened.model, variant: opened.variant, seed: opened.seed, other: name }) }, "side by side");
    return h("tr", {}, h("th", { scope: "row" }, h("a", { href: linkTo({ ...opened, model: name }) }, plain(name)), manifest.models[entry[0]][1] ? h("span", { class: "note" }, " baseline") : null),
      h("td", {}, outcomeMark(code), ` ${OUTCOMES[code]}`), h("td", { dir: "auto" }, visible(option ? option[1] + option[2] : "–")), h("td", {}, beside));
  });
  fill("models", h("div", { class: "scroll-x", tabindex: 0, role: "group", "aria-label": "Other models" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Model", "Outcome", "Option", "Compare"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))));
}

function fill(id, ...content) {
  const section = find(id);
  section?.replaceChildren(section.firstElementChild, ...content);
}
