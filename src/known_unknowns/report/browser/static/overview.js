// What the right side shows while no question is open: how all models did, with a link for each share.

const COLUMNS = [["right", "right", [RIGHT, REFUSED_RIGHTLY]], ["wrong", "wrong", [WRONG]], ["refused_wrongly", "refused, wrong", [REFUSED_WRONGLY]],
  ["abstained", "abstained", [ABSTAINED]], ["unparsed", "unparsed", [UNPARSED]], ["cut", "cut", [CUT]], ["failed", "failed", [FAILED]]];
const MOST_CATEGORIES = 40;
const NOTHING_SEARCHED = { base: null, bases: null };
let searched = NOTHING_SEARCHED;

/** Add the codes of the outcomes of the masked questions to the counts of one group, or of each question's group. */
function tally(counts, plane, mask, groupOf) {
  for (let q = 0; q < plane.length; q++) if (mask[q]) counts[groupOf ? groupOf[q] : 0][outcomeOf(plane[q])]++;
}

const noCounts = () => new Array(OUTCOMES.length).fill(0);

/** A table of shares. rows: [name, counts, the state of a link, whether it is a baseline]. */
function sharesPart(caption, head, rows) {
  const sum = (counts, codes) => codes.reduce((total, code) => total + counts[code], 0);
  const columns = COLUMNS.filter(([, , codes]) => rows.some(([, counts]) => sum(counts, codes)));
  const unopened = { question: "", open_model: "", open_variant: "", open_seed: "" };
  const link = (values, text) => h("a", { href: hashOf({ ...state, parser: parserKey(), ...unopened, ...values }) }, text);
  const lines = rows.map(([name, counts, values, baseline]) => {
    const asked = sum(counts, COLUMNS.flatMap((column) => column[2]));
    return h("tr", { class: baseline ? "baseline" : "" }, h("th", { scope: "row" }, link({ outcome: "", ...values }, plain(name))),
      columns.map(([outcome, , codes]) => {
        const count = sum(counts, codes), share = asked ? `${(100 * count / asked).toFixed(1)}%` : "–";
        return h("td", { class: "number" }, count ? link({ outcome, ...values }, share) : share);
      }), h("td", { class: "number" }, number(asked)));
  });
  return h("div", { class: "scroll-x", tabindex: 0, role: "group", "aria-label": caption }, h("table", { class: "overview" }, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, [head, ...columns.map((column) => capital(column[1])), "n"].map((name, i) => h("th", { scope: "col", class: i ? "number" : null }, name)))),
    h("tbody", {}, lines)));
}

/** Show the outcomes of all models in the listed variant, for the questions that fit all filters but the outcome. A search
 * of replies has only those of the listed models. */
async function showOverview(index, found = searched) {
  searched = found;
  if (state.question) return;
  const values = state;
  const [first] = listed(values, index);
  const shownVariant = first ? index.cells[first[1]] : index.cells[0];
  const variant = shownVariant[0];
  const { base, bases } = found;
  const entries = listed({ ...values, model: ALL, variant }, index).filter((entry) => !bases || bases.has(entry));
  const parser = index.parsers.indexOf(values.parser);
  const planes = await Promise.all(entries.map((entry) => loadOutcomes(index, entry, parser)));
  const masks = await Promise.all(entries.map((entry) => maskOf(values, index, entry, bases?.get(entry) ?? base, ASKED_BYTES)));
  if (values !== state) return;
  const isBaseline = (model) => manifest.models[model][1];
  const ofModel = new Map(entries.map((entry) => [entry[0], noCounts()])), ofCategory = index.categories.map(noCounts);
  const model = values.model === ALL ? firstModel(index) : values.model;
  planes.forEach((plane, i) => {
    tally([ofModel.get(entries[i][0])], plane, masks[i]);
    if (manifest.models[entries[i][0]][0] === model) tally(ofCategory, plane, masks[i], index.category);
  });
  const byModel = [...ofModel].filter(([, counts]) => counts.some(Boolean)).sort((a, b) => isBaseline(a[0]) - isBaseline(b[0]));
  const byCategory = [...ofCategory.entries()].filter(([, counts]) => counts.some(Boolean));
  const title = described(index.name)[1] === shownVariant[1] ? "unchanged questions" : shownVariant[1];
  const isFiltered = base || bases || values.other || values.parsers || values.relation;
  const note = [title, isFiltered ? "questions that fit the filters" : "", `${values.parser} parser`].filter(Boolean).join(", ");
  detail.replaceChildren(
    h("h2", {}, plain(described(index.name)[1])),
    h("p", { class: "message first-message" }, "Choose a question from the list, or press ", h("kbd", {}, "j"), " for the first. Each share below lists its questions."),
    byModel.length ? sharesPart(plain(`Outcomes of ${bases ? "the searched replies" : "all models"}: ${note}`), "Model",
      byModel.map(([place, counts]) => [manifest.models[place][0], counts, { model: manifest.models[place][0], variant }, isBaseline(place)])) : "",
    byCategory.length > 1 && byCategory.length <= MOST_CATEGORIES ? sharesPart(plain(`${model} by category: ${note}`), "Category",
      byCategory.map(([code, counts]) => [index.categories[code], counts, { model, variant, category: index.categories[code] }, false])) : "");
}
