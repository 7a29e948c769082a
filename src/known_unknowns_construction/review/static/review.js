// The review: one question at a time, each decision by one key or button.

import { readDraft, writeDraft } from "./drafts.js";
import { showImages, toggleOutlines, zoomBy } from "./images.js";
import { get, newKey, Outbox, Refusal } from "./outbox.js";
import {
  button, byId, fillEditor, make, reasonField, showChange, showFacts, showFlags, showKeys, showOptions, showOthers, showProgress,
  showWrong, TAKE,
} from "./view.js";

let session = null;
let queue = [];
let at = 0;
let item = null;
let draft = null;
let mode = "view"; // or "edit", "delete", "why"
let busy = true;
let readEditor = null;
let shownAt = 0; // when the question was shown, moved on by the time that the page was hidden
let hiddenAt = 0;
let outbox = null;

const query = (name) => new URLSearchParams(location.search).get(name) ?? "";
const place = () => queue[at][0];
const draftName = () => `review draft ${session.file} ${session.reviewer} ${item.id} ${item.sha256}`;
const tags = () => session.kind === "errors";

function message(text) {
  byId("message").textContent = text;
}

function status(text, waiting = false) {
  byId("saved").textContent = text;
  byId("saved").classList.toggle("waiting", waiting);
}

async function start() {
  session = await get("api/session");
  byId("title").textContent = session.title;
  document.title = `Review of ${session.title}`;
  const name = query("reviewer") || (session.reviewers.length === 1 ? session.reviewers[0] : "");
  if (!session.reviewers.includes(name)) return chooseReviewer();
  session = await get(`api/session?reviewer=${encodeURIComponent(name)}`);
  queue = session.queue;
  const kind = session.adjudicates ? "adjudication" : session.blind ? "blind review" : "review";
  byId("who").textContent = `${kind} by ${name}`;
  outbox = new Outbox(`review outbox ${session.file} ${session.title} ${name}`, (why) => {
    if (why) status(`Not saved yet: ${why}`, true);
  });
  const refused = await sendWhatWasLeft();
  fillHelp();
  showProgress(session.progress);
  if (queue.length === 0) return nothing();
  const asked = queue.findIndex(([number]) => String(number) === location.hash.slice(1));
  const first = queue.findIndex((entry) => entry[2] === "pending");
  await open(asked >= 0 ? asked : Math.max(0, first));
  if (refused) message(refused);
  return undefined;
}

function chooseReviewer() {
  const links = session.reviewers.map((name) => {
    const link = make("a", "", name);
    link.href = `?reviewer=${encodeURIComponent(name)}`;
    return make("li", "", link);
  });
  byId("main").replaceChildren(make("section", "", make("h2", "", "Who reviews?"), make("ul", "", ...links)));
}

function nothing() {
  const text = session.adjudicates ? "The reviewers differ on no question." : "This queue is empty.";
  byId("main").replaceChildren(make("section", "", make("h2", "", text)));
}

/** Sends a decision that was not confirmed. Returns why it was refused, if it was. */
async function sendWhatWasLeft() {
  const left = outbox.left;
  if (!left) return "";
  let refused = "";
  status("Sending a decision that was not confirmed", true);
  try {
    await outbox.send(left.address, left.body);
    status("Saved");
  } catch (error) {
    status("");
    refused = `A decision that was not confirmed was refused: ${error.message}`;
  }
  session = await get(`api/session?reviewer=${encodeURIComponent(session.reviewer)}`);
  queue = session.queue;
  return refused;
}

async function open(index) {
  busy = true;
  try {
    at = index;
    item = await get(`api/item/${place()}?reviewer=${encodeURIComponent(session.reviewer)}`);
    history.replaceState(null, "", `#${place()}`);
    show();
  } catch (error) {
    message(error instanceof Refusal ? error.message : "The server does not answer. Start it again, then press →.");
  } finally {
    busy = false;
  }
}

function show() {
  mode = "view";
  draft = readDraft(draftName()) ?? base();
  const state = item.state === "pending" ? "undecided" : item.state;
  const why = [item.decision?.tag, item.decision?.reason].filter(Boolean).join(": ");
  byId("where").textContent = `Question ${at + 1} of ${queue.length} · ${state}${why ? ` (${why})` : ""}`;
  message("");
  showFlags(item.flags);
  showWrong(item.wrong);
  showFacts(item);
  showImages(item, place());
  render();
  shownAt = performance.now();
  const after = queue[at + 1];
  if (after) new Image().src = `images/${after[0]}/0`;
}

/** The question as it was last saved. */
const base = () => structuredClone(item.decision?.after ?? item.content);
const differs = (one, other) => JSON.stringify(one) !== JSON.stringify(other);
const changed = () => differs(draft, item.content);
const unsaved = () => differs(draft, base());

function render() {
  byId("question").textContent = draft.question;
  showOptions(item, draft, choose);
  const buttons =
    unsaved() && mode === "view"
      ? [button("Save the change", "Enter", saveChange), " ", button("Discard it", "Esc", discard)]
      : [];
  showChange(item.content, draft, buttons);
  showOthers(item.others, item.content, take);
  byId("editor").hidden = mode !== "edit";
  byId("panel").hidden = mode !== "delete" && mode !== "why";
  const own = item.decision?.action;
  const actions = tags()
    ? session.tags.map((tag, index) => [tag, String(index + 1), () => decide("tag", { tag }), item.decision?.tag === tag])
    : [
        ["Keep", "k", keep, own === "keep"],
        ["Modify", "m", modify, own === "modify"],
        ["Delete", "d", remove, own === "delete"],
      ];
  byId("actions").replaceChildren(
    ...actions.map(([text, key, pressed, current]) => {
      const made = button(text, key, pressed);
      made.className = current ? "current" : "";
      return made;
    }),
  );
}

const keepDraft = () => writeDraft(draftName(), unsaved() ? draft : null);

function choose(index) {
  if (tags() || busy || mode === "delete" || mode === "why" || index >= draft.labels.length) return;
  if (mode === "edit") draft = readEditor();
  draft.answer = draft.labels[index];
  message("");
  keepDraft();
  render();
}

function keep() {
  if (unsaved()) {
    message("The question is changed. Enter saves the change; Esc discards it, then k keeps the question.");
    return;
  }
  decide("keep");
}

function modify() {
  if (tags() || busy) return;
  mode = "edit";
  readEditor = fillEditor(draft, edited, saveChange, discard);
  render();
  byId("edit-question").focus();
}

function edited() {
  draft = readEditor();
  keepDraft();
  showChange(item.content, draft, []);
}

function saveChange() {
  if (mode === "edit") draft = readEditor();
  if (session.needsReason) why();
  else decide("modify", { after: draft });
}

/** Asks for the reason of a correction. */
function why() {
  mode = "why";
  const [label, input] = reasonField("Why is it corrected? (Enter saves)", (reason) => {
    if (reason.trim()) decide("modify", { after: draft, reason });
    else message("A correction of a published question needs a reason.");
  });
  byId("panel").replaceChildren(label, input, button("Cancel", "Esc", discard));
  render();
  input.focus();
}

function discard() {
  if (mode === "view" || mode === "edit") {
    draft = base();
    keepDraft();
  }
  mode = "view";
  message("");
  document.activeElement?.blur();
  render();
}

function remove() {
  if (tags() || busy) return;
  mode = "delete";
  const [label, input] = reasonField("Another reason (type it, then Enter)", (reason) => decide("delete", { reason }));
  const offered = session.reasons.map((reason, i) => button(reason, String(i + 1), () => decide("delete", { reason })));
  byId("panel").replaceChildren(make("p", "", "Why is it deleted?"), ...offered, label, input, button("Cancel", "Esc", discard));
  render();
  offered[0].focus();
}

function take(index) {
  const other = item.others[index];
  if (!other) return;
  decide(other.action, { reason: other.reason, tag: other.tag, after: other.after });
}

async function decide(action, { reason = "", tag = "", after = null } = {}) {
  if (busy) return;
  busy = true;
  const finished = draftName();
  status("Saving", true);
  const seconds = Math.round((performance.now() - shownAt) / 100) / 10;
  const body = { key: newKey(), reviewer: session.reviewer, item: place(), sha256: item.sha256, action, reason, tag, after };
  try {
    const reply = await outbox.send("api/decision", { ...body, seconds: Math.min(seconds, 86_400) });
    queue[at][2] = reply.state;
    writeDraft(finished, null);
    showProgress(reply.progress);
    await forward();
    status(`Saved ${new Date(reply.time).toLocaleTimeString()}`);
  } catch (error) {
    status("Not saved", true);
    message(error.message);
  } finally {
    busy = false;
  }
}

async function forward() {
  document.activeElement?.blur();
  const next = find((entry) => entry[2] === "pending");
  if (next >= 0) await open(next);
  else {
    await open(at);
    message(`All ${queue.length} questions of this queue are decided. Any of them can be changed.`);
  }
}

async function undo() {
  if (busy) return;
  busy = true;
  try {
    const reply = await outbox.send("api/undo", { key: newKey(), reviewer: session.reviewer });
    const index = queue.findIndex(([number]) => number === reply.item);
    showProgress(reply.progress);
    if (index < 0) return message("There is no decision to undo.");
    queue[index][2] = reply.state;
    await open(index);
    status("Undone");
  } catch (error) {
    message(error.message);
  } finally {
    busy = false;
  }
  return undefined;
}

/** The next index after this one, around the end, whose entry fits; -1 without one. */
function find(fits) {
  for (let step = 1; step <= queue.length; step++) {
    const index = (at + step) % queue.length;
    if (fits(queue[index])) return index;
  }
  return -1;
}

function go(index) {
  if (!busy && index >= 0 && index < queue.length) open(index);
}

function goTo(fits, none) {
  const index = find(fits);
  if (index >= 0) go(index);
  else message(none);
}

const COMMON = [
  ["u", "undo the last decision", undo],
  ["ArrowLeft", "previous question", () => go(at - 1)],
  ["ArrowRight", "next question", () => go(at + 1)],
  ["f", "next flagged question", () => goTo((entry) => entry[1], "No question is flagged.")],
  ["j", "next undecided question", () => goTo((entry) => entry[2] === "pending", "All questions are decided.")],
  ["o", "outlines on or off", toggleOutlines],
  ["+", "zoom in", () => zoomBy(1)],
  ["-", "zoom out", () => zoomBy(-1)],
  ["0", "the whole image", () => zoomBy(0)],
  ["?", "this list", () => byId("help").showModal()],
];
const QUESTION_KEYS = [
  ["k", "keep the question", keep],
  ["m", "edit the texts, then Ctrl+Enter", modify],
  ["d", "delete, then a reason", remove],
];

const keysOf = () => [...(tags() ? [] : QUESTION_KEYS), ...COMMON];

function fillHelp() {
  const digits = tags()
    ? session.tags.map((tag, index) => [String(index + 1), `tag: ${tag}`])
    : [["1-9", "choose another answer, then Enter"], ["Esc", "discard the change"]];
  if (session.adjudicates) digits.push([[...TAKE].join(" "), "take the decision of a reviewer"]);
  showKeys([...digits, ...keysOf()]);
}

function pressed(event) {
  if (!item || event.altKey || event.metaKey || byId("help").open) return;
  const writing = event.target.matches?.("input, textarea");
  if (event.key === "Escape" && (mode !== "view" || unsaved())) return discard();
  if (event.key === "Enter" && event.ctrlKey && mode === "edit") return saveChange();
  const pans = event.target.matches?.(".stage") && event.target.scrollWidth > event.target.clientWidth + 1;
  if (pans && event.key.startsWith("Arrow")) return undefined; // the browser scrolls the zoomed image
  if (writing || event.ctrlKey || mode === "edit") return undefined;
  const digit = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : -1;
  const others = session.adjudicates && mode === "view" ? TAKE.indexOf(event.key) : -1;
  const known = keysOf().find(([key]) => key === event.key);
  if (digit >= 0) byDigit(digit);
  else if (others >= 0 && others < item.others.length) take(others);
  else if (event.key === "Enter" && mode === "view" && !tags() && !event.target.matches?.("button")) {
    if (unsaved()) saveChange();
    else message("Nothing is changed; k keeps the question.");
  }
  else if (known && mode === "view") known[2]();
  else return undefined;
  event.preventDefault();
  return undefined;
}

function byDigit(digit) {
  if (mode === "delete") {
    const reason = session.reasons[digit];
    if (reason) decide("delete", { reason });
  } else if (tags()) {
    const tag = session.tags[digit];
    if (tag) decide("tag", { tag });
  } else choose(digit);
}

addEventListener("keydown", pressed);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hiddenAt = performance.now();
  else shownAt += performance.now() - hiddenAt;
});
byId("help-button").addEventListener("click", () => byId("help").showModal());
byId("outlines").addEventListener("click", toggleOutlines);
byId("smaller").addEventListener("click", () => zoomBy(-1));
byId("larger").addEventListener("click", () => zoomBy(1));
byId("fit").addEventListener("click", () => zoomBy(0));
for (const [id, key] of [["previous", "ArrowLeft"], ["next", "ArrowRight"], ["flagged", "f"], ["pending", "j"], ["undo", "u"]]) {
  byId(id).addEventListener("click", () => COMMON.find(([name]) => name === key)[2]());
}
start().catch((error) => message(error.message));
