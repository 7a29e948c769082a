// The parts of an open question. Each function returns elements.

const PART_NOTES = {
  part: "a part in the original resolution", scaled: "scaled down",
};
const GENERATED = { "uniform-noise": "uniform noise", "normal-noise": "normal noise", blank: "a blank image" };

function imagePart(shared, reference) {
  const image = typeof reference === "number" ? shared.images[reference] : null;
  if (!image) return h("p", { class: "note" }, "An image without a record, sha256 ", h("code", {}, plain(reference)));
  const [digest, width, height, file, how, recipe] = image;
  const kind = GENERATED[recipe] ?? (recipe ? "composed for this turn" : "image of the question");
  const size = width && height ? `, ${number(width)} × ${number(height)} pixels` : "";
  const caption = `${kind}${size}${PART_NOTES[how] ? `; shown: ${PART_NOTES[how]}` : ""}`;
  if (!/^[0-9a-f]{32}\.(png|jpg|gif|webp)$/.test(file)) {
    const absent = how === "missing" ? "its file is not among the data" : "images are not included";
    return h("p", { class: "note" }, `${kind}${size}; ${absent}, sha256 `, h("code", {}, digest));
  }
  const source = `${FOLDER}images/${file}`;
  return h("figure", {},
    h("a", { href: source, target: "_blank", rel: "noopener" },
      h("img", { src: source, alt: caption, loading: "lazy", class: recipe === "blank" || how === "part" ? "generated" : "" })),
    h("figcaption", {}, caption));
}

const imagesPart = (shared, references) =>
  references.length ? h("div", { class: "images" }, references.map((reference) => imagePart(shared, reference))) : null;

/** The options: the right one, the refusal, and those that models chose. */
function optionsPart(question, chosen) {
  const [, options, answer, refusal] = question;
  if (!options.length) return null;
  return h("ul", { class: "options" }, options.map(([label, mark, value], i) => {
    const tags = [i === answer && "right", i === refusal && "refusal"].filter(Boolean).map((name) => h("span", { class: `tag ${name}` }, name));
    const by = chosen.filter(([, choice]) => choice === i).map(([name]) => h("span", { class: "tag picked" }, `chosen: ${plain(name)}`));
    return h("li", { class: i === answer ? "is-right" : "" }, h("span", { dir: "auto" }, visible(mark + value)), " ", tags, by);
  }));
}

const NOTES = { "-1": "The parser does not return this result for this reply. The recorded result is older than the parser, or was imported." };

function passageNote(score, turn, parser) {
  const [, , code, label, , start, , note] = score;
  if (code === FAILED) return "The turn failed; no parser ran.";
  if (parser === "likelihood") return "It uses the log-probabilities, not the text.";
  if (code === ABSTAINED) return "The reply abstains: it chooses no option.";
  if (code === CUT) return "The length limit ended the reply before an answer.";
  if (label === null) return "No passage: the parser found no single option.";
  if (start === null || start === undefined) return note >= 0 ? `Result of turn ${note + 1}, about a view.` : NOTES[note] ?? "";
  return h("q", { dir: "auto" }, visible(turn[5].slice(start, score[6])));
}

/** How each parser parsed a turn. */
function scoresPart(scores, turn, question, parsers) {
  if (!scores.length) return null;
  return h("div", { class: "scroll-x", tabindex: 0, role: "group", "aria-label": "Parsed answers" }, h("table", { class: "scores" },
    h("thead", {}, h("tr", {}, ["Parser", "Outcome", "Label", "Option", "Passage"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, scores.map((score) => {
      const [, parser, code, label, choice] = score;
      const option = choice === null ? "" : question[1][choice]?.[2] ?? "";
      return h("tr", {}, h("th", { scope: "row" }, plain(parsers[parser])), h("td", {}, outcomeMark(code), " ", OUTCOMES[code]),
        h("td", {}, label === null ? "–" : plain(label)), h("td", { dir: "auto" }, visible(option)),
        h("td", {}, passageNote(score, turn, parsers[parser])));
    }))));
}

function logprobsPart(logprobs, question) {
  if (!logprobs) return null;
  const finite = logprobs.map((pair) => pair[1]).filter((value) => value !== null);
  const total = finite.reduce((sum, value) => sum + Math.exp(value), 0);
  const rows = logprobs.map(([label, value]) => {
    const share = value === null || !total ? 0 : Math.exp(value) / total;
    const meter = h("meter", { min: 0, max: 1, value: share.toFixed(4), "aria-label": `Share of ${plain(label)}` });
    const option = question[1].find((entry) => entry[0] === label);
    return h("tr", {}, h("th", { scope: "row" }, plain(label)), h("td", { dir: "auto" }, visible(option ? option[2] : "")),
      h("td", { class: "number" }, value === null ? "−∞" : value.toFixed(3).replace("-", "−")), h("td", {}, meter, ` ${(100 * share).toFixed(1)}%`));
  });
  return h("details", { open: true }, h("summary", {}, "Log-probabilities of the labels"),
    h("div", { class: "scroll-x", tabindex: 0, role: "group", "aria-label": "Log-probabilities" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Label", "Option", "Log-probability", "Share of these labels"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows))));
}

/** One turn: its prompt, its reply with the passages, its parsed answers and its log-probabilities. */
function turnPart(turn, i, count, row, shared, question, parsers) {
  const [step, prompt, images, labels, , reply, logprobs, tokens, finish, error] = turn;
  const scores = row[1].filter((score) => score[0] === i);
  const passages = scores.filter((s) => s[5] !== null && s[5] !== undefined).map((s) => [s[5], s[6], plain(parsers[s[1]])]);
  const told = shared.prompts[prompt];
  const facts = [labels ? `labels on offer: ${labels.map(plain).join(", ")}` : "free text",
    tokens[0] === null ? "" : `${number(tokens[0])} input tokens`, tokens[1] === null ? "" : `${number(tokens[1])} of them for images`,
    tokens[2] === null ? "" : `${number(tokens[2])} output tokens`, `end: ${plain(finish)}`].filter(Boolean);
  return h("section", { class: "turn" },
    h("h4", {}, count > 1 ? `Turn ${i + 1} of ${count}: ${plain(step)}` : `Turn: ${plain(step)}`),
    h("div", { class: "exchange" },
      h("div", { class: "prompt" }, h("h5", {}, "Prompt"), imagesPart(shared, images),
        told ? text(told) : h("p", { class: "note" }, "The prompt is not recorded (imported replies).")),
      h("div", { class: "answered" }, h("h5", {}, "Reply"),
        error === null ? null : h("p", { class: "failure" }, "Failed: ", visible(error)),
        reply === "" && error === null ? h("p", { class: "note" }, "The reply is empty.") : h("pre", { class: "text", dir: "auto" }, highlighted(reply, passages)),
        h("p", { class: "note" }, facts.join(" · ")))),
    scoresPart(scores, turn, question, parsers), logprobsPart(logprobs, question));
}

const definitions = (pairs) => h("dl", { class: "facts-list" },
  pairs.filter(([, value]) => value !== "" && value !== undefined && value !== null)
    .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

/** Where the replies and the images come from. */
function provenancePart(index, opened, row, shared, question) {
  const { engine, source, revision, ...rest } = index.provenance.engines[opened.model]?.facts ?? {};
  const code = (value) => (value === undefined ? "" : h("code", {}, plain(value)));
  const digests = [...new Set(row[0].flatMap((turn) => turn[2]))].map((i) => (typeof i === "number" ? shared.images[i][0] : i));
  const json = (value, name) => [h("h5", {}, name),
    h("pre", { class: "text small", tabindex: 0, role: "group", "aria-label": name }, visible(JSON.stringify(value, null, 1)))];
  return h("details", { class: "provenance" }, h("summary", {}, "Provenance"),
    definitions([["Engine", code(engine)], ["Source", code(source)], ["Revision", code(revision)],
      ...row[0].map((turn, i) => [`Journal key of turn ${i + 1}`, code(turn[4])]),
      ...digests.map((digest, i) => [`Image ${i + 1}, sha256`, code(digest)]),
      ["Group", code(question[6])], ["Version", `${plain(manifest.version)}, ${plain(manifest.edition)} edition`]]),
    json(rest, "Settings that can change a reply"),
    json(index.provenance.engines[opened.model]?.about ?? null, "Description of the engine"),
    json(index.provenance.data, "Source of the questions"),
    question[7] ? json(JSON.parse(question[7]), "Other fields of the question") : null);
}
