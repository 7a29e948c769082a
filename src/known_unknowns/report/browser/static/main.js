// The form of the filters, and what happens when the state changes.

const form = find("filters"), count = find("count");
let filtering = 0, formOf = null, typing = 0;

const choice = (value, name) => h("option", { value }, plain(name));
const phrase = (value, name) => choice(value, capital(name));
const field = (name, label, options, attributes = {}) =>
  h("label", { for: name, ...attributes }, h("span", {}, label), h("select", { id: name, name }, options));

function modelOptions(blank) {
  const of = (scripted) => manifest.models.filter((model) => model[1] === scripted).map(([name]) => choice(name, name));
  const baselines = of(true);
  return [blank, h("optgroup", { label: "Models" }, of(false)), baselines.length ? h("optgroup", { label: "Baselines" }, baselines) : null];
}

function parserPairs(parsers) {
  return parsers.flatMap((one, i) => parsers.slice(i + 1).map((other) => phrase(`${one}~${other}`, `${one} and ${other} disagree`)));
}

const relationOptions = ([first, second], index) => {
  const title = (name) => index.variants.find((variant) => variant[0] === name)?.[1] ?? name;
  const name = (refused) => `answered correctly in “${title(first)}”, ${refused} in “${title(second)}”`;
  return [phrase(`${first}~${second}`, name("not refused")), phrase(`${first}+${second}`, name("refused"))];
};

/** Build the form for a benchmark. */
function buildForm(index) {
  const seeds = [...new Set(index.cells.map((cell) => cell[2]))];
  const sources = index.sources.filter(([, , present]) => present);
  const wasOpen = find("more")?.open, focused = document.activeElement?.id;
  const named = (entries) => Object.entries(entries).map(([key, [name]]) => phrase(key, name));
  form.replaceChildren(
    h("div", { class: "first" },
      h("label", { class: "search", for: "search" }, h("span", {}, "Search"),
        h("input", { id: "search", name: "search", type: "search", placeholder: "Questions and options ( / )", autocomplete: "off", spellcheck: "false" })),
      field("benchmark", "Benchmark", manifest.benchmarks.map(([name, title]) => choice(name, title))),
      field("model", "Model", modelOptions(choice(ALL, "All models"))),
      field("variant", "Variant", [choice(ALL, "All variants"), ...index.variants.map(([name, title]) => choice(name, title))]),
      field("outcome", "Outcome", [choice("", "Any"), ...named(OUTCOME_FILTERS)]),
      field("sort", "Order", [choice("", "As published"), choice(WRONG_FIRST, "Wrong first"), ...sources.map(([name, title]) => choice(name, `Sure and wrong first: ${title}`))])),
    h("details", { id: "more" }, h("summary", {}, "More filters"), h("div", { class: "first" },
      field("category", "Category", [choice("", "Any"), ...index.categories.map((name) => choice(name, name))]),
      field("other", "Compare with", modelOptions(choice("", "No other model"))),
      field("differ", "Show where", named(DIFFERENCES)),
      field("relation", "Pair of variants", [choice("", "Any"), ...index.relations.flatMap((pair) => relationOptions(pair, index))]),
      field("parser", "Parser", index.parsers.map((name) => choice(name, name))),
      field("parsers", "Two parsers", [choice("", "Agree or not"), choice("any", "Any two disagree"), ...parserPairs(index.parsers)]),
      field("seed", "Seed", [choice("", "All seeds"), ...seeds.map((seed) => choice(String(seed), String(seed)))], { hidden: seeds.length < 2 }),
      h("label", { class: "check", for: "replies" }, h("input", { id: "replies", name: "replies", type: "checkbox", value: "1" }), "Search replies too"),
      h("button", { type: "button", onclick: () => apply({ benchmark: index.name, question: state.question }) }, "Reset"))));
  find("more").open = Boolean(wasOpen);
  if (focused && form.elements[focused]) form.elements[focused].focus(); // a change of the benchmark keeps the place
  formOf = index.name;
}

function showForm() {
  for (const control of form.elements) {
    if (control.type === "checkbox") control.checked = state[control.name] === "1";
    else if (control.name && !(control.type === "search" && document.activeElement === control)) control.value = state[control.name];
  }
  form.elements.differ.disabled = !state.other;
  form.elements.variant.disabled = state.relation !== "";
  const hidden = ["category", "other", "relation", "parsers", "seed", "replies"].filter((name) => state[name] !== "");
  if (hidden.length) revealFilters();
}

const revealFilters = () => { find("more").open ||= ["category", "other", "relation", "parsers", "seed", "replies"].some((name) => state[name] !== ""); };

/** Read the state from the form. */
function ofForm() {
  const values = { ...state };
  for (const control of form.elements) {
    if (control.type === "checkbox") values[control.name] = control.checked ? "1" : "";
    else if (control.name) values[control.name] = control.value;
  }
  if (values.benchmark !== state.benchmark) values.question = "";
  if (values.variant !== state.variant) values.seed = "";
  return { ...values, open_model: "", open_variant: "", open_seed: "" };
}

/** Show a state: the list if its filters changed, and the open question if it changed. */
async function apply(values, { push = false, focus = false } = {}) {
  const next = { ...Object.fromEntries(KEYS.map((key) => [key, ""])), ...values };
  const problems = [];
  if (!described(next.benchmark)) {
    if (next.benchmark) problems.push(`This run has no benchmark “${plain(next.benchmark)}”; ${plain(manifest.benchmarks[0]?.[1])} is shown.`);
    next.benchmark = manifest.benchmarks[0]?.[0] ?? "";
  }
  if (!next.benchmark) return say("This edition has no benchmark.");
  const token = ++filtering;
  try {
    const index = await loadIndex(next.benchmark);
    if (token !== filtering) return undefined;
    const unknown = complete(next, index);
    const isLink = !state.benchmark || next.benchmark === state.benchmark; // else filters that the other benchmark lacks are left out
    notice([...problems, ...(isLink ? unknown : [])]);
    const filters = (of) => KEYS.filter((key) => key !== "question" && !key.startsWith("open_")).map((key) => of[key]).join("\n");
    const again = filters(next) !== filters(state) || shown.index !== index;
    state = next;
    setHash(state, push);
    if (formOf !== index.name) buildForm(index);
    showForm();
    const opened = openDetail(index, state, focus);
    if (again) await showList(index, token);
    else {
      markRow(state.question ? placeOf(openedOf(state, index)) : -1);
      await showOverview(index);
    }
    await opened;
  } catch (error) {
    if (token === filtering) say(error.message);
  }
  return undefined;
}

/** Say what a link names that does not exist. */
function notice(problems) {
  find("notice").hidden = !problems.length;
  find("notice").textContent = problems.join(" ");
}

async function showList(index, token) {
  const started = performance.now();
  scroller.setAttribute("aria-busy", "true");
  let first = true;
  const partial = ({ entries, rows, done }) => {
    if (token !== filtering) return;
    setRows(index, entries, rows, !first);
    first = false;
    say(`${counted(rows.length, "row")} so far, counting (${done} of ${entries.length})`);
  };
  const found = await filterRows(state, index, (message) => token === filtering && say(message), partial);
  if (token !== filtering) return;
  setRows(index, found.entries, found.rows, !first);
  document.body.dataset.milliseconds = (performance.now() - started).toFixed(1);
  if (state.question) markRow(placeOf(openedOf(state, index)));
  const total = index.size * found.entries.length;
  say(found.rows.length ? `${number(found.rows.length)} of ${counted(total, found.entries.length > 1 ? "row" : "question")}` : nothing(found, index));
  scroller.setAttribute("aria-busy", "false");
  await showOverview(index, found.searched);
  if (!index.shownTexts) loadTexts(index).then(() => { if (shown.index === index) renderRows(); prepare(index); });
}

function nothing({ entries }, index) {
  if (entries.length) return "No question fits these filters.";
  const title = index.variants.find((variant) => variant[0] === state.variant)?.[1] ?? "this variant";
  return `${plain(state.model)} was not asked “${plain(title)}”.`;
}

const IDLE = 24e6; // bytes of one parser's outcomes; if there are more, filters load what they need

/** Return the shards that filters may need: the outcomes of all variants, all of the listed variant, then the others. */
function shardsOfFilters(index) {
  const { replies, parsers, main } = index;
  const namesOf = (entries, kind, which) => entries.map((entry) => nameOfKind(index, entry, kind, which));
  const listedCell = listed(state, index)[0]?.[1];
  const ofVariant = replies.filter((entry) => entry[1] === listedCell);
  const groups = pairBits({ parsers: "any" }, index).map(([group]) => group);
  return new Set([
    ...namesOf(replies, OUTCOME, main),
    ...[...parsers.keys()].flatMap((parser) => [OUTCOME, ANSWER].flatMap((kind) => namesOf(ofVariant, kind, parser))),
    ...namesOf(replies, ANSWER, main),
    ...groups.flatMap((group) => namesOf(replies, DISAGREEMENT, group)),
    ...(index.relations.length ? index.cells.map((cell) => cell[5]) : []),
  ]);
}

/** Load what the search and other filters need, a shard at a time, while nothing else happens. */
async function prepare(index) {
  const idle = () => new Promise((resume) => requestIdleCallback(resume, { timeout: 5000 }));
  await idle();
  searchable(index);
  for (const name of index.replies.length * index.size > IDLE ? [] : shardsOfFilters(index)) {
    await idle();
    await loadPlane(name);
  }
  document.body.dataset.prepared = performance.now().toFixed();
}

function say(message) {
  count.textContent = message;
}

/** Open a row of the list. */
function openRow(values, push = true, focus = true) {
  return apply({ ...state, question: values.question, open_model: "", open_variant: "", open_seed: "", ...openedKeys(values) }, { push, focus });
}

function closeQuestion() {
  const place = current;
  const closed = apply({ ...state, question: "" }, { push: true });
  closed.then(() => (list.querySelector(`[data-place="${place}"]`) ?? list).focus({ preventScroll: true }));
}

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", (event) => { if (event.target.name !== "search") apply(ofForm()); });
form.addEventListener("input", (event) => {
  if (event.target.name !== "search") return;
  clearTimeout(typing);
  typing = setTimeout(() => apply(ofForm()), form.elements.replies.checked ? 200 : 20);
});
list.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openRow(rowAt(Number(link.dataset.place)).values);
});
addEventListener("popstate", () => apply(readHash(), { focus: true }));
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); list.focus(); });
const measureBar = () => document.documentElement.style.setProperty("--bar", `${document.querySelector(".bar").offsetHeight}px`);
measureBar();
window.addEventListener("resize", measureBar);
document.querySelector(".pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
apply(readHash());
