// Shards: files that call shard(name, payload). docs/question_browser.md describes their content.

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
  const stream = new Blob([decode(payload)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
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

/** Load the texts of all questions of a benchmark, once: as shown, and in lower case in one string for the search. */
function loadTexts(index) {
  index.textsPromise ??= Promise.all(index.texts.map(async (name) => parse(await loadBytes(name)))).then((parts) => {
    index.shownTexts = parts.flat();
  });
  return index.textsPromise;
}

/** Make the texts and ids in lower case one string, and note where each begins; `until` ends the work early. */
function searchable(index, until = () => false) {
  if (index.joined) return true;
  index.lower ??= [];
  index.starts ??= new Uint32Array(index.size + 1);
  for (let q = index.lower.length; q < index.size; q++) {
    if (q % 64 === 0 && until()) return false;
    index.lower.push(`${index.shownTexts[q]}\n${index.ids[q]}`.toLowerCase());
    index.starts[q + 1] = index.starts[q] + index.lower[q].length + 1;
  }
  index.joined = index.lower.join("\0") + "\0";
  index.lower = null;
  return true;
}

/** Load an array of bytes for all models of one variant and seed: one scorer's outcomes (kind 0) or choices (kind 1). */
function loadPlane(index, entry, scorer, kind) {
  const [, cell, row] = entry;
  const name = index.cells[cell][4][scorer][Math.floor(row / index.together)][kind];
  if (!planes.has(name)) {
    const loading = loadBytes(name).then((bytes) => { planes.set(name, bytes); return bytes; });
    planes.set(name, loading);
    loading.catch(() => planes.delete(name));
  }
  const part = (bytes) => bytes.subarray((row % index.together) * index.size, (row % index.together + 1) * index.size);
  const value = planes.get(name);
  return value instanceof Uint8Array ? part(value) : value.then(part);
}

const loadOutcomes = (index, entry, scorer) => loadPlane(index, entry, scorer, 0);

/** Load a scorer's outcomes and choices of one model's replies. */
async function loadFlags(index, entry, scorer) {
  const [outcome, choice] = await Promise.all([0, 1].map((kind) => loadPlane(index, entry, scorer, kind)));
  return { outcome, choice };
}

/** Load the shared values (prompts, images) and the row of a question in one variant and seed; the row may be null. */
async function loadQuestion(index, cell, place) {
  const chunk = await loadJson(index.cells[cell][3][Math.floor(place / index.chunk)]);
  return { shared: chunk, question: chunk.questions[place % index.chunk] };
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
    return [scores.turn[i], scores.scorer[i], scores.outcome[i], valueOf(scores.label, i), scores.choice[i],
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
