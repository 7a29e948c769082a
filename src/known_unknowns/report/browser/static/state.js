// The state of the page is its hash, so that every view has a link.

const KEYS = ["benchmark", "question", "model", "variant", "seed", "other", "differ", "category", "outcome", "parser",
  "parsers", "relation", "sort", "search", "replies", "open_model", "open_variant", "open_seed"];
let state = {};

const WRONG_FIRST = "wrong"; // an order; the others are sources of a confidence

function readHash() {
  if (!location.hash && manifest.sort) return { ...Object.fromEntries(KEYS.map((key) => [key, ""])), sort: manifest.sort };
  const values = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(KEYS.map((key) => [key, values.get(key) ?? ""]));
}

/** Return the link to a state, without empty values. */
function hashOf(values) {
  const parts = KEYS.filter((key) => values[key] !== "" && values[key] !== undefined && values[key] !== null);
  return "#" + parts.map((key) => `${key}=${encodeURIComponent(values[key])}`).join("&");
}

/** The parser, or nothing if it is the main one. */
const parserKey = (values = state) => {
  const index = indices.get(values.benchmark);
  return values.parser === index?.parsers[index.main] ? "" : values.parser;
};

/** Put a state into the address; as a new entry of the history if the question changes. */
function setHash(values, push) {
  const hash = hashOf({ ...values, parser: parserKey(values) });
  if (hash !== location.hash) history[push ? "pushState" : "replaceState"](null, "", hash);
}

const ALL = "*";
const firstModel = (index) => {
  const asked = index.replies.map((entry) => entry[0]);
  const models = manifest.models.map(([name, scripted], place) => ({ name, scripted, place }));
  const own = models.filter((model) => asked.includes(model.place));
  return (own.find((model) => !model.scripted) ?? own[0])?.name ?? "";
};

/** Replace absent and unknown values by the first that exist. Return a sentence for each unknown value. */
function complete(values, index) {
  const problems = [];
  const titles = new Map(index.variants);
  const title = described(index.name)[1];
  const unknown = (key, what, instead) => {
    problems.push(`${plain(title)} has no ${what} “${plain(values[key])}”${instead ? `; ${plain(instead)} is shown` : ""}.`);
    values[key] = "";
  };
  const modelNames = manifest.models.map((model) => model[0]);
  if (values.model && values.model !== ALL && !modelNames.includes(values.model)) {
    problems.push(`This run has no model “${plain(values.model)}”; ${plain(firstModel(index))} is shown.`);
    values.model = "";
  }
  values.model ||= firstModel(index);
  if (values.other && !modelNames.includes(values.other)) {
    problems.push(`This run has no model “${plain(values.other)}” to compare with.`);
    values.other = "";
  }
  if (values.other === values.model) values.other = "";
  if (!values.other) values.differ = "";
  const known = (variant, seed) => index.cells.some((cell) => cell[0] === variant && (seed === "" || String(cell[2]) === seed));
  if (values.variant && values.variant !== ALL && !known(values.variant, "")) unknown("variant", "variant", index.variants[0][1]);
  values.variant ||= index.variants[0][0];
  if (values.seed !== "" && values.variant !== ALL && !known(values.variant, values.seed)) {
    problems.push(`“${plain(titles.get(values.variant))}” has no seed ${plain(values.seed)}.`);
    values.seed = "";
  }
  if (values.parser && !index.parsers.includes(values.parser)) unknown("parser", "parser", index.parsers[index.main]);
  values.parser ||= index.parsers[index.main];
  if (values.category && !index.categories.includes(values.category)) unknown("category", "category");
  if (values.outcome && !(values.outcome in OUTCOME_FILTERS)) unknown("outcome", "outcome");
  if (values.sort && values.sort !== WRONG_FIRST && !index.sources.some(([name, , present]) => present && name === values.sort)) unknown("sort", "confidence from the source");
  if (values.relation && !relationOf(values, index)) unknown("relation", "pair of variants");
  if (values.question && !index.place.has(values.question)) unknown("question", "question");
  return problems;
}

/** Return the keys of an open row that the filters leave open. */
function openedKeys(row) {
  const index = indices.get(state.benchmark);
  const seeds = index.cells.filter((cell) => cell[0] === row.variant).length;
  return {
    open_model: state.model === ALL ? row.model : "",
    open_variant: state.variant === ALL && !state.relation ? row.variant : "",
    open_seed: state.seed === "" && seeds > 1 ? row.seed : "",
  };
}

/** Return the question, model, variant and seed that a state opens, with its cell and its entry of replies. */
function openedOf(values, index) {
  const model = values.model === ALL ? values.open_model || firstModel(index) : values.model;
  const relation = relationOf(values, index);
  let variant = relation ? relation[relation[3]] : values.variant;
  if (variant === ALL) variant = values.open_variant || index.variants[0][0];
  const seed = values.seed || values.open_seed;
  const fits = (cell) => cell[0] === variant && (seed === "" || String(cell[2]) === seed);
  const answered = (cell) => index.at.has(`${modelNumber(model)} ${cell}`);
  const cells = [...index.cells.keys()].filter((cell) => fits(index.cells[cell]));
  const cell = cells.find(answered) ?? cells[0] ?? 0;
  return {
    question: values.question, place: index.place.get(values.question), model, variant: index.cells[cell][0],
    seed: String(index.cells[cell][2]), cell, entry: index.at.get(`${modelNumber(model)} ${cell}`),
  };
}

/** Return the link to one question, without the filters of the list. */
const linkTo = (row) => hashOf({
  benchmark: state.benchmark, question: row.question, model: row.model, variant: row.variant, seed: row.seed,
  other: row.other, parser: parserKey(),
});
