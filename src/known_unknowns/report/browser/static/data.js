// Shards: files that call shard(name, payload). docs/question_browser.md describes their content.

const FOLDER = "questions/";
const NAME = /^[0-9a-f]{16}$/;
const MOST_KEPT = 96;
const manifest = JSON.parse(find("manifest").textContent);
const waiting = new Map();
const kept = new Map();
const indices = new Map();
const flagsOf = new Map();

window.shard = (name, payload) => {
  const resolve = waiting.get(name);
  waiting.delete(name);
  if (resolve) resolve(payload);
};

async function inflate(payload) {
  const characters = atob(payload);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
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

/** Load the texts of all questions of a benchmark, once, in the original and in lower case. */
function loadTexts(index) {
  index.textsPromise ??= Promise.all(index.texts.map(async (name) => parse(await loadBytes(name)))).then((parts) => {
    index.shownTexts = parts.flat();
    index.lowerTexts = index.shownTexts.map((value) => value.toLowerCase());
  });
  return index.textsPromise;
}

/** Load the outcomes and choices of one model's replies: a pair of arrays for each scorer. */
function loadFlags(index, entry) {
  if (!flagsOf.has(entry[2])) {
    const planes = loadBytes(entry[2]).then((bytes) => index.scorers.map((_, s) => ({
      outcome: bytes.subarray(2 * s * index.size, (2 * s + 1) * index.size),
      choice: bytes.subarray((2 * s + 1) * index.size, (2 * s + 2) * index.size),
    })));
    flagsOf.set(entry[2], planes);
    planes.catch(() => flagsOf.delete(entry[2]));
  }
  return flagsOf.get(entry[2]);
}

/** Load the shared values (prompts, images) and the row of a question in one variant and seed; the row may be null. */
async function loadQuestion(index, cell, place) {
  const chunk = await loadJson(index.cells[cell][3][Math.floor(place / index.chunk)]);
  return { shared: chunk, question: chunk.questions[place % index.chunk] };
}

/** Load one model's turns and scores of a question; null if it was not asked. */
async function loadReply(index, entry, place) {
  return (await loadJson(entry[3][Math.floor(place / index.chunk)]))[place % index.chunk];
}

/** Call a function for all items, with some of them at the same time. */
async function forAll(items, call, together = 8) {
  let next = 0;
  const work = async () => { while (next < items.length) await call(items[next++]); };
  await Promise.all(Array.from({ length: together }, work));
}
