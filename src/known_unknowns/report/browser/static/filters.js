// Which rows are listed. A row is a question together with a model, a variant and a seed.

const NOT_ASKED = 0, RIGHT = 1, WRONG = 2, REFUSED_RIGHTLY = 3, REFUSED_WRONGLY = 4, ABSTAINED = 5, UNPARSED = 6, CUT = 7, FAILED = 8;
const OUTCOMES = ["not asked", "right", "wrong", "refused, right", "refused, wrong", "abstained", "unparsed", "cut", "failed"];
const SYMBOLS = ["", "✓", "✗", "○", "⊘", "∅", "?", "…", "!"];
const outcomeOf = (byte) => byte & 15;
const isRight = (byte) => outcomeOf(byte) === RIGHT || outcomeOf(byte) === REFUSED_RIGHTLY;
const isRefused = (byte) => outcomeOf(byte) === REFUSED_RIGHTLY || outcomeOf(byte) === REFUSED_WRONGLY;
const forcedOf = (byte) => (byte >> 4) & 3;
const hasNoLabel = (byte) => [UNPARSED, CUT, FAILED].includes(outcomeOf(byte)) && !(byte & 64);
const RIGHT_OPTION = 9, FIRST_OPTION = 10; // answers, as in outcomes.py

const OUTCOME_FILTERS = {
  right: ["right", isRight],
  wrong: ["wrong", (byte) => outcomeOf(byte) === WRONG],
  refused: ["refused", isRefused],
  refused_wrongly: ["refused, wrong", (byte) => outcomeOf(byte) === REFUSED_WRONGLY],
  refused_known: ["refused, but right when asked again", (byte) => isRefused(byte) && forcedOf(byte) === 1],
  refused_unknown: ["refused, and not right when asked again", (byte) => isRefused(byte) && forcedOf(byte) === 2],
  abstained: ["abstained", (byte) => outcomeOf(byte) === ABSTAINED],
  unparsed: ["unparsed", (byte) => outcomeOf(byte) === UNPARSED],
  recognised: ["refused or abstained", (byte) => isRefused(byte) || outcomeOf(byte) === ABSTAINED],
  unusable: ["unparsed, cut or failed", (byte) => [UNPARSED, CUT, FAILED].includes(outcomeOf(byte))],
  no_label: ["unparsed without a label, cut or failed", (byte) => hasNoLabel(byte)],
  cut: ["cut", (byte) => outcomeOf(byte) === CUT],
  failed: ["failed", (byte) => outcomeOf(byte) === FAILED],
};

// For each difference: its name, and whether the first and the second model are right; null for any two answers.
const DIFFERENCES = {
  "": ["their answers differ", null],
  first: ["only the first is right", [1, 0]],
  second: ["only the second is right", [0, 1]],
  right: ["both are right", [1, 1]],
  wrong: ["neither is right", [0, 0]],
};

/** Return a table with a number for each byte: 1 where the test holds. */
const tableOf = (test) => Uint8Array.from({ length: 256 }, (_, byte) => Number(test(byte)));
const RIGHT_BYTES = tableOf(isRight);
const ANSWERED_BYTES = tableOf((byte) => outcomeOf(byte) === RIGHT); // right, and not by refusing

/** Return the option of a question that a byte of an answer names, or nothing. */
const optionOf = (question, answer) => question[1][answer === RIGHT_OPTION ? question[2] : answer - FIRST_OPTION];

const modelNumber = (name) => manifest.models.findIndex((model) => model[0] === name);

/** Return the entries of the replies that a state lists. */
function listed(values, index) {
  const model = modelNumber(values.model);
  const relation = relationOf(values, index);
  const carrier = relation ? relation[relation[3]] : null;
  return index.replies.filter((entry) => {
    const [variant, , seed] = index.cells[entry[1]];
    return (values.model === ALL || entry[0] === model)
      && (relation ? variant === carrier : values.variant === ALL || variant === values.variant)
      && (values.seed === "" || String(seed) === values.seed);
  });
}

/** Return the pair of variants that a state names, or nothing: "a+b" for questions that are right in the first variant and
 * refused in the second, as the dual accuracy counts them, and "a~b" for those that are right but not refused. */
function relationOf(values, index) {
  return index.relations.find(([first, second]) => [`${first}+${second}`, `${first}~${second}`].includes(values.relation));
}
const isDual = (values, [first, second]) => values.relation === `${first}+${second}`;

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
  /**
   * masks: for each entry, a byte for each question, 1 if the row is listed; null if no row of the entry is.
   * counts: the number of rows of each question.
   */
  constructor(masks, counts) {
    this.masks = masks;
    this.before = new Uint32Array(counts.length + 1); // rows before each question
    for (let q = 0; q < counts.length; q++) this.before[q + 1] = this.before[q] + counts[q];
    this.length = this.before[counts.length];
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

  /** Return the places of the rows of a question. */
  placesOf(q) {
    return Array.from({ length: this.before[q + 1] - this.before[q] }, (_, i) => this.before[q] + i);
  }
}

const KEYS_OF_ROWS = 512;

/** The same rows in the order of a key from 0 to 511: `keyOf(q, number)` of the question's place and the entry. */
class SortedRows {
  constructor(rows, keyOf) {
    this.rows = rows;
    this.length = rows.length;
    this.from = new Uint32Array(rows.length); // the place in `rows` of each row
    this.to = new Uint32Array(rows.length); // and the reverse
    const keys = new Uint16Array(rows.length), starts = new Uint32Array(KEYS_OF_ROWS + 1);
    let place = 0;
    for (let q = 0; q + 1 < rows.before.length; q++) {
      if (rows.before[q] === rows.before[q + 1]) continue;
      rows.masks.forEach((mask, number) => { if (mask && mask[q]) keys[place++] = keyOf(q, number); });
    }
    for (const key of keys) starts[key + 1]++;
    for (let key = 0; key < KEYS_OF_ROWS; key++) starts[key + 1] += starts[key];
    keys.forEach((key, i) => { this.to[i] = starts[key]; this.from[starts[key]++] = i; });
  }

  at(place) {
    return this.rows.at(this.from[place]);
  }

  /** A question that the list hides has no place between others. */
  firstOf() {
    return 0;
  }

  placesOf(q) {
    return this.rows.placesOf(q).map((place) => this.to[place]);
  }
}

/**
 * Sort rows. By confidence: wrong answers by falling confidence, right ones by rising confidence, then all others.
 * Otherwise wrong answers, then those that are neither right nor wrong, then right ones.
 */
async function sortedRows(rows, entries, values, index) {
  const load = (kind, which) => Promise.all(entries.map((entry) => loadKind(index, entry, kind, which)));
  if (values.sort === WRONG_FIRST) {
    const found = await load(OUTCOME, index.main);
    return new SortedRows(rows, (q, number) => {
      const outcome = outcomeOf(found[number][q]);
      return outcome === WRONG ? 0 : outcome === RIGHT ? 2 : 1;
    });
  }
  const source = index.sources.findIndex(([name]) => name === values.sort);
  const [outcomes, confidences] = await Promise.all([load(OUTCOME, index.main), load(CONFIDENCE, source)]);
  return new SortedRows(rows, (q, number) => {
    const byte = confidences[number][q], outcome = outcomeOf(outcomes[number][q]);
    if (!byte || (outcome !== WRONG && outcome !== RIGHT)) return KEYS_OF_ROWS - 1;
    return outcome === WRONG ? 255 - byte : 254 + byte;
  });
}

/** Return the bits of the pairs of parsers whose disagreement is asked for: any pair, or those named. [group, bits] */
function pairBits(values, index) {
  if (!values.parsers) return [];
  const named = values.parsers === "any" ? index.parsers : values.parsers.split("~");
  const groups = [];
  let pair = 0;
  index.parsers.forEach((one, i) => index.parsers.slice(i + 1).forEach((other) => {
    groups[pair >> 3] |= (named.includes(one) && named.includes(other)) << (pair & 7);
    pair++;
  }));
  return [...groups.entries()].filter(([, bits]) => bits);
}

/** Start to load all bytes that the filters need, so that no shard waits for another. */
function preload(values, index, entries, parser) {
  const differing = values.other && !values.differ ? [[ANSWER, parser]] : [];
  const kinds = [[OUTCOME, parser], ...differing, ...pairBits(values, index).map(([group]) => [DISAGREEMENT, group])];
  for (const entry of entries) for (const [kind, which] of kinds) loadPlane(nameOfKind(index, entry, kind, which));
}

/** Keep the questions on which two parsers disagree: any two, or two of those named. */
async function keepDisagreements(mask, values, index, entry) {
  const groups = pairBits(values, index);
  const planes = await Promise.all(groups.map(([group]) => loadKind(index, entry, DISAGREEMENT, group)));
  for (let q = 0; q < mask.length; q++) {
    let bits = 0;
    for (let g = 0; g < groups.length; g++) bits |= planes[g][q] & groups[g][1];
    if (!bits) mask[q] = 0;
  }
}

/** Keep the questions on which a reply and that of another model differ. */
async function keepDifferences(mask, values, index, entry, parser) {
  const other = index.at.get(`${modelNumber(values.other)} ${entry[1]}`);
  if (!other || other === entry) return mask.fill(0);
  const rights = (DIFFERENCES[values.differ] ?? DIFFERENCES[""])[1];
  const load = rights ? loadOutcomes : loadAnswers;
  const [mine, theirs] = await Promise.all([entry, other].map((of) => load(index, of, parser)));
  if (!rights) for (let q = 0; q < mask.length; q++) mask[q] &= Number(theirs[q] !== 0 && mine[q] !== theirs[q]);
  else {
    const [first, second] = rights;
    for (let q = 0; q < mask.length; q++) {
      mask[q] &= Number(outcomeOf(theirs[q]) !== NOT_ASKED && RIGHT_BYTES[mine[q]] === first && RIGHT_BYTES[theirs[q]] === second);
    }
  }
  return mask;
}

/** Keep the questions that are answered correctly in the relation's first variant, and refused, or not, in its second. */
async function keepRelated(mask, values, index, entry, parser) {
  const relation = relationOf(values, index);
  const pair = related(index, relation, entry);
  if (!pair) return mask.fill(0);
  const [first, second] = await Promise.all(pair.map((of) => loadOutcomes(index, of, parser)));
  const refusals = await loadRefusals(index, pair[1][1]);
  const dual = isDual(values, relation);
  const kept = tableOf((byte) => outcomeOf(byte) !== NOT_ASKED && isRefused(byte) === dual);
  for (let q = 0; q < mask.length; q++) mask[q] &= ANSWERED_BYTES[first[q]] & refusals[q] & kept[second[q]];
  return mask;
}

/** Return the mask of one entry: which questions pass the filters of outcomes. */
async function maskOf(values, index, entry, base, table) {
  const parser = index.parsers.indexOf(values.parser);
  const loading = loadOutcomes(index, entry, parser);
  const outcome = loading instanceof Uint8Array ? loading : await loading;
  const mask = new Uint8Array(index.size);
  if (base) for (let q = 0; q < mask.length; q++) mask[q] = table[outcome[q]] & base[q];
  else for (let q = 0; q < mask.length; q++) mask[q] = table[outcome[q]];
  if (values.parsers) await keepDisagreements(mask, values, index, entry);
  if (values.other) await keepDifferences(mask, values, index, entry, parser);
  if (relationOf(values, index)) await keepRelated(mask, values, index, entry, parser);
  return mask;
}

const PATIENCE = 100; // ms until the first rows are shown while others are loaded; each further time, twice as many

/** Bytes of outcomes of questions that were asked. */
const ASKED_BYTES = tableOf((byte) => outcomeOf(byte) !== NOT_ASKED);

/** Return the entries and the rows of a state, and what the search and the category leave of each entry. `partial` receives what is found so far, and how much is left. */
async function filterRows(values, index, progress, partial) {
  const entries = listed(values, index);
  const words = values.search.toLowerCase().split(/\s+/).filter(Boolean);
  const inText = words.length ? await textMatches(index, words) : null;
  const inReplies = words.length && values.replies ? await replyMatches(index, entries, words, progress) : null;
  const category = values.category ? Uint8Array.from(index.category, (code) => Number(code === index.categories.indexOf(values.category))) : null;
  const both = (a, b) => (a && b ? a.map((value, q) => value & b[q]) : a ?? b);
  const base = both(category, inText);
  const matches = OUTCOME_FILTERS[values.outcome]?.[1] ?? (() => true);
  const table = tableOf((byte) => outcomeOf(byte) !== NOT_ASKED && matches(byte));
  const masks = new Array(entries.length).fill(null), counts = new Uint32Array(index.size), bases = new Map();
  preload(values, index, entries, index.parsers.indexOf(values.parser));
  let done = 0, patience = PATIENCE, shownAt = performance.now();
  await forAll([...entries.keys()], async (i) => {
    const texts = inReplies && both(category, inReplies[i].map((value, q) => value | inText[q]));
    bases.set(entries[i], texts ?? base);
    const mask = await maskOf(values, index, entries[i], texts ?? base, table);
    for (let q = 0; q < mask.length; q++) counts[q] += mask[q];
    masks[i] = mask;
    done++;
    if (done < entries.length && performance.now() - shownAt > patience) {
      patience *= 2;
      partial({ entries, rows: new Rows([...masks], counts), done });
      await new Promise((resume) => setTimeout(resume)); // let the browser draw
      shownAt = performance.now();
    }
  });
  const rows = new Rows(masks, counts);
  const inOrder = values.sort ? await sortedRows(rows, entries, values, index) : rows;
  return { entries, rows: inOrder, searched: { base, bases: inReplies ? bases : null } };
}

const hasAll = (value, words) => words.every((word) => value.includes(word));

/** Return which questions have all words in their text, options or id. */
async function textMatches(index, words) {
  await loadTexts(index);
  const { joined, starts } = searchable(index), { size } = index;
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
