// Which rows are listed. A row is a question together with a model, a variant and a seed.

const NOT_ASKED = 0, RIGHT = 1, WRONG = 2, REFUSED_RIGHTLY = 3, REFUSED_WRONGLY = 4, UNPARSED = 5, FAILED = 6;
const OUTCOMES = ["not asked", "right", "wrong", "refused, right", "refused, wrong", "unparsed", "failed"];
const SYMBOLS = ["", "✓", "✗", "○", "⊘", "?", "!"];
const isRight = (byte) => (byte & 7) === RIGHT || (byte & 7) === REFUSED_RIGHTLY;
const isRefused = (byte) => (byte & 7) === REFUSED_RIGHTLY || (byte & 7) === REFUSED_WRONGLY;
const forcedOf = (byte) => (byte >> 4) & 3;
const refusalIsRight = (byte) => (byte & 64) !== 0;

const OUTCOME_FILTERS = {
  right: ["right", isRight],
  wrong: ["wrong", (byte) => (byte & 7) === WRONG],
  refused: ["refused", isRefused],
  refused_wrongly: ["refused, wrong", (byte) => (byte & 7) === REFUSED_WRONGLY],
  refused_known: ["refused, but right when asked again", (byte) => isRefused(byte) && forcedOf(byte) === 1],
  refused_unknown: ["refused, and not right when asked again", (byte) => isRefused(byte) && forcedOf(byte) === 2],
  unparsed: ["unparsed", (byte) => (byte & 7) === UNPARSED],
  failed: ["failed", (byte) => (byte & 7) === FAILED],
};

const DIFFERENCES = {
  "": ["their answers differ", null],
  first: ["only the first is right", (a, b) => isRight(a) && !isRight(b)],
  second: ["only the second is right", (a, b) => !isRight(a) && isRight(b)],
  right: ["both are right", (a, b) => isRight(a) && isRight(b)],
  wrong: ["neither is right", (a, b) => !isRight(a) && !isRight(b)],
};

/** Whether two parsed answers differ: the option, or the outcome where none was chosen. */
function differ(a, b, q) {
  if (a.choice[q] || b.choice[q]) return a.choice[q] !== b.choice[q];
  return (a.outcome[q] & 7) !== (b.outcome[q] & 7);
}

/** Whether two of the parsers that have a result disagree. */
function disagree(planes, q) {
  let first = null;
  for (const plane of planes) {
    if ((plane.outcome[q] & 7) === NOT_ASKED) continue;
    first ??= plane;
    if (differ(plane, first, q)) return true;
  }
  return false;
}

const modelNumber = (name) => manifest.models.findIndex((model) => model[0] === name);

/** Return the entries of the replies that a state lists. */
function listed(values, index) {
  const model = modelNumber(values.model);
  const relation = index.relations[values.relation];
  const carrier = relation ? relation[relation[3]] : null;
  return index.replies.filter((entry) => {
    const [variant, , seed] = index.cells[entry[1]];
    return (values.model === ALL || entry[0] === model)
      && (relation ? variant === carrier : values.variant === ALL || variant === values.variant)
      && (values.seed === "" || String(seed) === values.seed);
  });
}

/** Return, for one entry, the entries of the relation's two variants with the same model. */
function related(index, relation, entry) {
  const seed = index.cells[entry[1]][2];
  const pair = relation[2].find((seeds) => seeds[relation[3]] === seed);
  if (!pair) return null;
  const of = (side) => {
    const cell = index.cells.findIndex((c) => c[0] === relation[side] && c[2] === pair[side]);
    return index.at.get(`${entry[0]} ${cell}`);
  };
  return of(0) && of(1) ? [of(0), of(1)] : null;
}

/** Return a test of the question's place for one entry, or null if no question passes. The flags are loaded. */
async function testOf(values, index, entry) {
  const scorer = index.scorers.indexOf(values.parser);
  const own = await loadFlags(index, entry);
  const { outcome } = own[scorer];
  const matches = OUTCOME_FILTERS[values.outcome]?.[1] ?? (() => true);
  const table = Uint8Array.from({ length: 256 }, (_, byte) => Number((byte & 7) !== NOT_ASKED && matches(byte)));
  const tests = [(q) => table[outcome[q]] === 1];
  if (values.parsers) {
    const names = values.parsers === "any" ? index.scorers : values.parsers.split("~");
    const planes = names.map((name) => own[index.scorers.indexOf(name)]).filter(Boolean);
    tests.push((q) => disagree(planes, q));
  }
  if (values.other) {
    const other = index.at.get(`${modelNumber(values.other)} ${entry[1]}`);
    if (!other || other === entry) return null;
    const theirs = (await loadFlags(index, other))[scorer], mine = own[scorer];
    const rule = (DIFFERENCES[values.differ] ?? DIFFERENCES[""])[1];
    tests.push((q) => (theirs.outcome[q] & 7) !== NOT_ASKED
      && (rule ? rule(outcome[q], theirs.outcome[q]) : differ(mine, theirs, q)));
  }
  const relation = index.relations[values.relation];
  if (relation) {
    const pair = related(index, relation, entry);
    if (!pair) return null;
    const [first, second] = (await Promise.all(pair.map((e) => loadFlags(index, e)))).map((f) => f[scorer].outcome);
    tests.push((q) => isRight(first[q]) && refusalIsRight(second[q]) && (second[q] & 7) !== NOT_ASKED && !isRefused(second[q]));
  }
  return tests.length === 1 ? tests[0] : (q) => tests.every((test) => test(q));
}

/** Return the entries and the rows of a state: row = place of the question * number of entries + place of the entry. */
async function filterRows(values, index, progress) {
  const entries = listed(values, index);
  const tests = [];
  let loaded = 0;
  await forAll([...entries.keys()], async (i) => {
    tests[i] = await testOf(values, index, entries[i]);
    if (entries.length > 4) progress(`Loading outcomes: ${++loaded} of ${entries.length}`);
  });
  const words = values.search.toLowerCase().split(/\s+/).filter(Boolean);
  const inText = words.length ? await textMatches(index, words) : null;
  const inReplies = words.length && values.replies ? await replyMatches(index, entries, words, progress) : null;
  const category = values.category ? index.categories.indexOf(values.category) : -1;
  const width = entries.length;
  const rows = new Float64Array(index.size * width);
  let count = 0;
  for (let q = 0; q < index.size; q++) {
    if (category >= 0 && index.category[q] !== category) continue;
    if (inText && !inText[q] && !inReplies) continue;
    for (let e = 0; e < width; e++) {
      if (inText && !inText[q] && !inReplies[e][q]) continue;
      if (tests[e] && tests[e](q)) rows[count++] = q * width + e;
    }
  }
  return { entries, rows: rows.slice(0, count) };
}

const hasAll = (value, words) => words.every((word) => value.includes(word));

async function textMatches(index, words) {
  await loadTexts(index);
  return Uint8Array.from(index.ids, (id, q) => Number(hasAll(index.lowerTexts[q], words) || hasAll(id.toLowerCase(), words)));
}

const MOST_SHARDS = 3000;

/** Return for each entry which questions have a reply with all words. Loads the replies. */
async function replyMatches(index, entries, words, progress) {
  const jobs = entries.flatMap((entry, e) => entry[3].map((name, chunk) => ({ e, name, chunk })));
  if (jobs.length > MOST_SHARDS) throw new Error("Choose a model or a variant first: there are too many replies to search at once.");
  const found = entries.map(() => new Uint8Array(index.size));
  let loaded = 0;
  await forAll(jobs, async ({ e, name, chunk }) => {
    const rows = await loadJson(name);
    rows.forEach((row, i) => {
      if (row && hasAll(row[0].map((turn) => turn[5]).join("\n").toLowerCase(), words)) found[e][chunk * index.chunk + i] = 1;
    });
    progress(`Searching replies: ${++loaded} of ${jobs.length} parts`);
  });
  return found;
}
