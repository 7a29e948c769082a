// The list: only the rows in view are elements.

const ROW = 52; // px, as in browser.css
const TALLEST = 8e6; // px; browsers limit the height of an element
const RESTING = 40; // ms without a new row until options are loaded
const MORE = 6; // rows above and below the view
let shown = { entries: [], rows: new Rows(0, []), index: null };
let current = -1;

const scroller = find("scroll"), list = find("list");
const rowsInView = () => Math.max(1, Math.floor(scroller.clientHeight / ROW));

/** The height of the list, and whether its rows are compressed into it. */
function extent() {
  const height = shown.rows.length * ROW;
  return { height: Math.min(height, TALLEST), compressed: height > TALLEST };
}

function firstRow() {
  const { height, compressed } = extent();
  if (!compressed) return Math.floor(scroller.scrollTop / ROW);
  const share = scroller.scrollTop / Math.max(1, height - scroller.clientHeight);
  return Math.round(share * Math.max(0, shown.rows.length - rowsInView()));
}

/** Return the question's place, the entry and the state of a row. */
function rowAt(place) {
  const [q, number] = shown.rows.at(place);
  const entry = shown.entries[number];
  const [variant, , seed] = shown.index.cells[entry[1]];
  const values = { ...state, question: shown.index.ids[q], model: manifest.models[entry[0]][0], variant, seed: String(seed) };
  return { q, entry, values };
}

const outcomeMark = (code) => h("span", { class: `outcome o${code}`, title: OUTCOMES[code] },
  h("span", { "aria-hidden": "true" }, SYMBOLS[code]), h("span", { class: "unseen" }, OUTCOMES[code]));

function rowElement(place, top) {
  const { index } = shown;
  const { q, entry, values } = rowAt(place);
  const [variant, title, seed] = index.cells[entry[1]];
  const item = h("li", { "aria-setsize": shown.rows.length, "aria-posinset": place + 1 });
  item.style.top = `${top}px`;
  const link = h("a", { href: linkOfRow(values), "data-place": place, "aria-current": place === current ? "true" : null });
  const mark = h("span", { class: "marks" });
  const excerpt = plain(excerptOf(index, q, 140).replace(/\s+/g, " "));
  const facts = [plain(index.ids[q])];
  if (state.model === ALL) facts.push(plain(manifest.models[entry[0]][0]));
  if (state.variant === ALL && !state.relation) facts.push(plain(title));
  if (index.cells.filter((cell) => cell[0] === variant).length > 1) facts.push(`seed ${seed}`);
  facts.push(plain(index.categories[index.category[q]]));
  if (state.sort && state.sort !== WRONG_FIRST) {
    const sure = loadConfidences(index, entry, index.sources.findIndex(([name]) => name === state.sort));
    if (sure instanceof Uint8Array && sure[q]) facts.push(`confidence ${Math.round((sure[q] - 1) / 2.54)}%`);
  }
  const answer = h("span", { class: "given", dir: "auto" });
  link.append(mark, h("span", { class: "excerpt", dir: "auto" }, excerpt), h("span", { class: "line" }, answer, h("span", { class: "facts" }, facts.join(" · "))));
  item.append(link);
  const parser = index.parsers.indexOf(state.parser);
  const entries = [entry, state.other && index.at.get(`${modelNumber(state.other)} ${entry[1]}`)].filter(Boolean);
  Promise.all(entries.map((e) => loadOutcomes(index, e, parser))).then((planes) => {
    mark.append(...planes.map((outcome) => outcomeMark(outcomeOf(outcome[q]))));
  });
  const question = questionInMemory(index, entry[1], q);
  if (question === undefined) unanswered.push([answer, entries, q]);
  else showAnswers(answer, entries, q, question);
  return item;
}

/** Show the options that the listed replies chose, and the right one beside a wrong one. Other outcomes have their mark. */
async function showAnswers(element, entries, q, question) {
  if (!question) return;
  const { index } = shown;
  const parser = index.parsers.indexOf(state.parser);
  const bytes = (await Promise.all(entries.map((entry) => loadAnswers(index, entry, parser)))).map((plane) => plane[q]);
  const nameOf = (option) => plain(`${option[1]}${option[2]}`);
  const chosen = bytes.map((byte) => (byte >= RIGHT_OPTION ? optionOf(question, byte) : null));
  const texts = chosen.map((option, i) => (option ? nameOf(option) : OUTCOMES[bytes[i]] ?? ""));
  const right = question[2] === null ? null : question[1][question[2]];
  const isWrong = chosen.some((option) => option && right && option !== right);
  element.textContent = texts.filter(Boolean).join(" / ") + (isWrong ? ` (right: ${nameOf(right)})` : "");
}

let unanswered = [], answering = 0;

/** Load the options of the rows in view once the list rests. */
function showLater() {
  clearTimeout(answering);
  const rows = unanswered, { index } = shown;
  unanswered = [];
  if (rows.length) answering = setTimeout(() => {
    for (const [element, entries, q] of rows) {
      loadQuestion(index, entries[0][1], q).then(({ question }) => index === shown.index && showAnswers(element, entries, q, question), (error) => say(error.message));
    }
  }, RESTING);
}

/** The link of a row keeps the filters; its model, variant and seed are added where the filters list several. */
const linkOfRow = (values) => hashOf({ ...state, parser: parserKey(), question: values.question, ...openedKeys(values) });

function renderRows() {
  if (!shown.index) return;
  const { height, compressed } = extent();
  const inView = rowsInView(), top = scroller.scrollTop, firstInView = firstRow(); // read before the list changes
  const first = Math.max(0, firstInView - MORE);
  const last = Math.min(shown.rows.length, firstInView + inView + MORE + 1);
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.place : null;
  list.style.height = `${height}px`;
  const topOf = (place) => (compressed ? top + (place - firstInView) * ROW : place * ROW);
  const items = [];
  for (let place = first; place < last; place++) items.push(rowElement(place, topOf(place)));
  list.replaceChildren(...items);
  showLater();
  if (focused) list.querySelector(`[data-place="${Number(focused)}"]`)?.focus({ preventScroll: true });
}

function setRows(index, entries, rows, keepPlace) {
  shown = { index, entries, rows };
  current = -1;
  if (!keepPlace && scroller.scrollTop) scroller.scrollTop = 0;
  renderRows();
}

/** Scroll a row into view and mark it as the open one. */
function markRow(place) {
  current = place;
  const { height, compressed } = extent();
  if (compressed) {
    const share = place / Math.max(1, shown.rows.length - rowsInView());
    scroller.scrollTop = Math.min(1, share) * (height - scroller.clientHeight);
  } else if (place >= 0) {
    const top = place * ROW;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + ROW - scroller.clientHeight;
  }
  renderRows();
}

/** Return the row of an open question, or -1 if the filters hide it. */
function placeOf(values) {
  const q = shown.index.place.get(values.question);
  for (const place of shown.rows.placesOf(q)) {
    const { values: row } = rowAt(place);
    if (row.model === values.model && row.variant === values.variant && row.seed === String(values.seed)) return place;
  }
  return -1;
}

let drawing = 0;
scroller.addEventListener("scroll", () => { drawing ||= requestAnimationFrame(() => { drawing = 0; renderRows(); }); }, { passive: true });
new ResizeObserver(() => renderRows()).observe(scroller);
