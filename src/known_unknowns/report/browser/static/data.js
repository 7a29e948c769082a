// Shards: files that call shard(name, payload). DATA.md describes their content.

const FOLDER = "questions/";
const NAME = /^[0-9a-f]{16}$/;
const MOST_KEPT = 96;
const manifest = JSON.parse(find("manifest").textContent);
const waiting = new Map();
const kept = new Map();
const indices = new Map();
const planes = new Map();

window.shard = (name, payload) => {
  const resolve = waiting.get(name);
  waiting.delete(name);
  if (resolve) resolve(payload);
};

function decode(payload) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(payload);
  const characters = atob(payload);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

async function inflate(payload) {
  const stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter();
  const written = writer.write(decode(payload)).then(() => writer.close());
  const [bytes] = await Promise.all([new Response(stream.readable).arrayBuffer(), written]);
  return new Uint8Array(bytes);
}

/** Load the bytes of a shard. */
function loadBytes(name) {
  if (!NAME.test(name)) return Promise.reject(new Error("not the name of a shard"));
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    waiting.set(name, resolve);
    script.src = `${FOLDER}${name}.js`;
    script.onload = () => script.remove();
    script.onerror = () => {
      script.remove();
      waiting.delete(name);
      reject(new Error(`The file ${FOLDER}${name}.js cannot be read. Copy the folder "questions" together with this page.`));
    };
    document.head.append(script);
  }).then(inflate);
}

const parse = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** Load the JSON value of a shard; the last few stay in memory. */
function loadJson(name) {
  let value = kept.get(name);
  kept.delete(name);
  value ??= loadBytes(name).then(parse);
  kept.set(name, value);
  value.then((parsed) => { value.parsed = parsed; }, () => {});
  value.catch(() => kept.delete(name));
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return value;
}

const described = (name) => manifest.benchmarks.find((entry) => entry[0] === name);

/** Load the index of a benchmark. */
async function loadIndex(name) {
  if (!indices.has(name)) {
    const index = parse(await loadBytes(described(name)[3]));
    index.name = name;
    index.size = index.ids.length;
    index.place = new Map(index.ids.map((id, place) => [id, place]));
    index.variants = [...new Map(index.cells.map(([variant, title]) => [variant, title]))];
    index.at = new Map(index.replies.map((entry) => [`${entry[0]} ${entry[1]}`, entry]));
    indices.set(name, index);
  }
  return indices.get(name);
}

/** Return the places after each separator in a string, with 0 first. */
function startsOf(joined, size) {
  const starts = new Uint32Array(size + 1);
  for (let q = 0; q < size; q++) starts[q + 1] = joined.indexOf("\0", starts[q]) + 1;
  return starts;
}

/** Load the texts of all questions of a benchmark, once: one string with the text and the id of each question. */
function loadTexts(index) {
  index.textsPromise ??= Promise.all(index.texts.map(loadBytes)).then((parts) => {
    const joined = parts.map((part) => new TextDecoder().decode(part)).join("");
    index.shownTexts = { joined, starts: startsOf(joined, index.size) };
  });
  return index.textsPromise;
}

/** Return the first characters of a question's text, without its id. */
function excerptOf(index, q, length) {
  if (!index.shownTexts) return "";
  const { joined, starts } = index.shownTexts;
  return joined.slice(starts[q], Math.min(starts[q] + length, starts[q + 1] - index.ids[q].length - 2));
}

/** Return the texts in lower case, and where each begins. */
function searchable(index) {
  if (!index.lower) {
    const joined = index.shownTexts.joined.toLowerCase();
    const same = joined.length === index.shownTexts.joined.length;
    index.lower = { joined, starts: same ? index.shownTexts.starts : startsOf(joined, index.size) };
  }
  return index.lower;
}

const OUTCOME = 0, ANSWER = 1, DISAGREEMENT = 2, CONFIDENCE = 3; // kinds of bytes, as in outcomes.py

/** Load the bytes of a shard, which stay in memory. Returns the bytes themselves once they are loaded. */
function loadPlane(name) {
  if (!planes.has(name)) {
    const loading = loadBytes(name).then((bytes) => { planes.set(name, bytes); return bytes; });
    planes.set(name, loading);
    loading.catch(() => planes.delete(name));
  }
  return planes.get(name);
}

const nameOfKind = (index, [, cell, row], kind, which) => index.cells[cell][4][Math.floor(row / index.together)][kind][which];

/** Load a byte for each question: one kind of one model's replies to one variant and seed, for one parser, group of pairs or source. */
function loadKind(index, entry, kind, which) {
  const place = entry[2] % index.together;
  const part = (bytes) => bytes.subarray(place * index.size, (place + 1) * index.size);
  const value = loadPlane(nameOfKind(index, entry, kind, which));
  return value instanceof Uint8Array ? part(value) : value.then(part);
}

const loadOutcomes = (index, entry, parser) => loadKind(index, entry, OUTCOME, parser);
const loadAnswers = (index, entry, parser) => loadKind(index, entry, ANSWER, parser);
const loadConfidences = (index, entry, source) => loadKind(index, entry, CONFIDENCE, source);

/** Load a byte for each question of a variant and seed: 1 if the refusal is the right answer. */
const loadRefusals = (index, cell) => loadPlane(index.cells[cell][5]);

const nameOfQuestions = (index, cell, place) => index.cells[cell][3][Math.floor(place / index.chunk)];

/** Load the shared values (prompts, images) and the row of a question in one variant and seed; the row may be null. */
async function loadQuestion(index, cell, place) {
  const chunk = await loadJson(nameOfQuestions(index, cell, place));
  return { shared: chunk, question: chunk.questions[place % index.chunk] };
}

/** Return the row of a question whose shard is in memory; undefined while it is not. */
function questionInMemory(index, cell, place) {
  return kept.get(nameOfQuestions(index, cell, place))?.parsed?.questions[place % index.chunk];
}

const valueOf = ([values, codes], i) => values[codes[i]];

/** Return the rows of a shard of replies: for each question its turns and scores, null if it was not asked. */
function rowsOf(part) {
  if (part.rows) return part.rows;
  const { scores } = part;
  const notes = new Map(scores.notes);
  let turn = 0, score = 0, logprob = 0;
  const turnOf = (i) => {
    const logprobs = valueOf(part.logprobs, i)?.map((label) => [label, part.logprobs[2][logprob++]]) ?? null;
    return [valueOf(part.step, i), part.prompt[i], part.images[i], valueOf(part.labels, i), part.key[i], part.reply[i], logprobs,
      [part.input_tokens[i], part.visual_tokens[i], part.output_tokens[i]], valueOf(part.finish, i), valueOf(part.error, i)];
  };
  const scoreOf = (i) => {
    const start = scores.start[i] < 0 ? null : scores.start[i];
    return [scores.turn[i], scores.parser[i], scores.outcome[i], valueOf(scores.label, i), scores.choice[i],
      start, start === null ? null : scores.end[i], notes.get(i)];
  };
  part.rows = part.turns.map((count, q) => {
    const row = [Array.from({ length: count }, () => turnOf(turn++)), Array.from({ length: scores.counts[q] }, () => scoreOf(score++))];
    return row[0].length || row[1].length ? row : null;
  });
  return part.rows;
}

/** Load one model's turns and scores of a question; null if it was not asked. */
async function loadReply(index, entry, place) {
  return rowsOf(await loadJson(entry[3][Math.floor(place / index.chunk)]))[place % index.chunk];
}

/** Call a function for all items, with some of them at the same time. */
async function forAll(items, call, together = 8) {
  let next = 0;
  const work = async () => { while (next < items.length) await call(items[next++]); };
  await Promise.all(Array.from({ length: together }, work));
}
