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

/** The parsed answer as a number: the option, or the outcome where none was chosen. */
const answerOf = (plane, q) => (plane.choice[q] ? 8 + plane.choice[q] : plane.outcome[q] & 7);

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

/** The rows of a list: a row is a question together with an entry, in the order of the questions. */
class Rows {
  /** masks: for each entry, a byte for each question, 1 if the row is listed; null if no row of the entry is. */
  constructor(size, masks) {
    this.masks = masks;
    this.before = new Uint32Array(size + 1); // rows before each question
    for (const mask of masks) if (mask) for (let q = 0; q < size; q++) this.before[q + 1] += mask[q];
    for (let q = 0; q < size; q++) this.before[q + 1] += this.before[q];
    this.length = this.before[size];
  }

  /** Return the question's place and the number of the entry of a row. */
  at(place) {
    let low = 0, high = this.before.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.before[middle] <= place) low = middle;
      else high = middle;
    }
    let left = place - this.before[low];
    return [low, this.masks.findIndex((mask) => mask && mask[low] && left-- === 0)];
  }

  /** Return the place of the first row of a question, or of the next question with a row. */
  firstOf(q) {
    return this.before[q];
  }
}

/** Keep a question in a mask only if the test holds. */
function restrict(mask, test) {
  for (let q = 0; q < mask.length; q++) if (mask[q] && !test(q)) mask[q] = 0;
}

/** Keep the questions for which two of the parsers that have a result disagree. */
function keepDisagreements(mask, planes) {
  restrict(mask, (q) => {
    let first = 0;
    for (const plane of planes) {
      const answer = answerOf(plane, q);
      if (answer === NOT_ASKED) continue;
      if (first && answer !== first) return true;
      first = answer;
    }
    return false;
  });
}

/** Keep the questions on which a reply and that of another model differ. */
async function keepDifferences(mask, values, index, entry, scorer) {
  const other = index.at.get(`${modelNumber(values.other)} ${entry[1]}`);
  if (!other || other === entry) return mask.fill(0);
  const [mine, theirs] = await Promise.all([entry, other].map((of) => loadFlags(index, of, scorer)));
  const rule = (DIFFERENCES[values.differ] ?? DIFFERENCES[""])[1];
  restrict(mask, (q) => (theirs.outcome[q] & 7) !== NOT_ASKED
    && (rule ? rule(mine.outcome[q], theirs.outcome[q]) : answerOf(mine, q) !== answerOf(theirs, q)));
  return mask;
}

/** Keep the questions that are right in the relation's first variant and not refused in its second. */
async function keepRelated(mask, relation, index, entry, scorer) {
  const pair = related(index, relation, entry);
  if (!pair) return mask.fill(0);
  const [first, second] = await Promise.all(pair.map((of) => loadOutcomes(index, of, scorer)));
  restrict(mask, (q) => isRight(first[q]) && refusalIsRight(second[q]) && (second[q] & 7) !== NOT_ASKED && !isRefused(second[q]));
  return mask;
}

/** Return the mask of one entry: which questions pass the filters of outcomes. */
async function maskOf(values, index, entry, base) {
  const scorer = index.scorers.indexOf(values.parser);
  const outcome = await loadOutcomes(index, entry, scorer);
  const matches = OUTCOME_FILTERS[values.outcome]?.[1] ?? (() => true);
  const table = Uint8Array.from({ length: 256 }, (_, byte) => Number((byte & 7) !== NOT_ASKED && matches(byte)));
  const mask = new Uint8Array(index.size);
  if (base) for (let q = 0; q < mask.length; q++) mask[q] = table[outcome[q]] & base[q];
  else for (let q = 0; q < mask.length; q++) mask[q] = table[outcome[q]];
  if (values.parsers) {
    const names = values.parsers === "any" ? index.scorers : values.parsers.split("~");
    const known = names.map((name) => index.scorers.indexOf(name)).filter((place) => place >= 0);
    keepDisagreements(mask, await Promise.all(known.map((place) => loadFlags(index, entry, place))));
  }
  if (values.other) await keepDifferences(mask, values, index, entry, scorer);
  const relation = index.relations[values.relation];
  if (relation) await keepRelated(mask, relation, index, entry, scorer);
  return mask;
}

const PATIENCE = 100; // ms between the results that are shown while others are loaded

/** Return the entries and the rows of a state. `partial` receives what is found so far, and how much is left. */
async function filterRows(values, index, progress, partial) {
  const entries = listed(values, index);
  const words = values.search.toLowerCase().split(/\s+/).filter(Boolean);
  const inText = words.length ? await textMatches(index, words) : null;
  const inReplies = words.length && values.replies ? await replyMatches(index, entries, words, progress) : null;
  const category = values.category ? Uint8Array.from(index.category, (code) => Number(code === index.categories.indexOf(values.category))) : null;
  const both = (a, b) => (a && b ? a.map((value, q) => value & b[q]) : a ?? b);
  const base = both(category, inText);
  const masks = new Array(entries.length).fill(null);
  let done = 0, shownAt = performance.now();
  await forAll([...entries.keys()], async (i) => {
    const texts = inReplies && both(category, inReplies[i].map((value, q) => value | inText[q]));
    masks[i] = await maskOf(values, index, entries[i], texts ?? base);
    done++;
    if (done < entries.length && performance.now() - shownAt > PATIENCE) {
      partial({ entries, rows: new Rows(index.size, [...masks]), done });
      await new Promise((resume) => setTimeout(resume)); // let the browser draw
      shownAt = performance.now();
    }
  });
  return { entries, rows: new Rows(index.size, masks), base };
}

const hasAll = (value, words) => words.every((word) => value.includes(word));

/** Return which questions have all words in their text, options or id. */
async function textMatches(index, words) {
  await loadTexts(index);
  searchable(index);
  const { joined, starts, size } = index;
  const found = new Uint8Array(size).fill(1);
  for (const word of words) {
    const has = new Uint8Array(size);
    for (let q = 0, at = joined.indexOf(word); at >= 0; at = joined.indexOf(word, starts[q])) {
      while (starts[q + 1] <= at) q++;
      has[q++] = 1;
    }
    for (let q = 0; q < size; q++) found[q] &= has[q];
  }
  return found;
}

const MOST_SHARDS = 3000;

/** Return for each entry which questions have a reply with all words. Loads the replies. */
async function replyMatches(index, entries, words, progress) {
  const jobs = entries.flatMap((entry, e) => entry[3].map((name, chunk) => ({ e, name, chunk })));
  if (jobs.length > MOST_SHARDS) throw new Error("Choose a model or a variant first: there are too many replies to search at once.");
  const found = entries.map(() => new Uint8Array(index.size));
  let loaded = 0;
  await forAll(jobs, async ({ e, name, chunk }) => {
    rowsOf(await loadJson(name)).forEach((row, i) => {
      if (row && hasAll(row[0].map((turn) => turn[5]).join("\n").toLowerCase(), words)) found[e][chunk * index.chunk + i] = 1;
    });
    progress(`Searching replies: ${++loaded} of ${jobs.length} parts`);
  });
  return found;
}
