// The parts of the page that show a question. Every text is set as text, never as markup.

import { shownDifference } from "./difference.js";

/** Keys that take the decision of a reviewer; other letters have a meaning. */
export const TAKE = "abceghi";

export const byId = (id) => document.getElementById(id);

/** Returns an element with a class and children; strings become text. */
export function make(name, className = "", ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

export function button(text, key, pressed) {
  const made = make("button", "", `${text} `);
  made.type = "button";
  if (key) made.append(make("kbd", "", key));
  made.addEventListener("click", pressed);
  return made;
}

export function showFlags(flags) {
  byId("flags").replaceChildren(
    ...flags.map((flag) => make("li", "", make("strong", "", flag.filter), `: ${flag.reason}`)),
  );
}

/** Shows the options of the draft; `choose(index)` is called when one is clicked. */
export function showOptions(item, draft, choose) {
  byId("options").replaceChildren(
    ...draft.options.map((text, index) => {
      const label = draft.labels[index];
      const roles = [];
      if (label === draft.answer) roles.push(label === item.content.answer ? "answer" : "new answer");
      else if (label === item.content.answer) roles.push("original answer");
      if (item.wrong && label === item.wrong.choice) roles.push("the model's choice");
      const line = button("", "", () => choose(index));
      const classes = [label === draft.answer ? (label === item.content.answer ? "answer" : "chosen") : ""];
      if (item.wrong && label === item.wrong.choice) classes.push("missed");
      line.className = classes.join(" ").trim();
      line.replaceChildren(
        make("kbd", "", label),
        make("span", "text", text),
        make("span", "role", roles.join(", ")),
      );
      return make("li", "", line);
    }),
  );
}

export function showWrong(wrong) {
  byId("wrong").hidden = !wrong;
  if (!wrong) return;
  const choice = wrong.choice ? `${wrong.outcome}, ${wrong.choice}` : wrong.outcome;
  byId("wrong").replaceChildren(make("p", "", `Reply of the model (parsed as: ${choice})`), make("pre", "", wrong.reply));
}

/** Shows what the draft changes, and `buttons` below it. */
export function showChange(before, draft, buttons) {
  const lines = [];
  const add = (name, difference) => difference && lines.push(make("p", "", make("strong", "", `${name}: `), difference));
  add("Question", shownDifference(before.question, draft.question));
  draft.options.forEach((text, index) => {
    add(`Option ${draft.labels[index]}`, shownDifference(before.options[index], text));
  });
  if (before.answer !== draft.answer) {
    const names = [make("del", "", before.answer ?? "none"), " ", make("ins", "", draft.answer ?? "none")];
    add("Answer", make("span", "", ...names));
  }
  byId("change").replaceChildren(...lines, ...buttons);
  byId("change").hidden = lines.length + buttons.length === 0;
}

/** Shows the decisions of the others; `take(index)` adopts one. */
export function showOthers(others, content, take) {
  byId("others").hidden = others.length === 0;
  const lines = others.map((decision, index) => {
    const what = decision.tag || decision.action;
    const line = make("p", "", make("strong", "", decision.reviewer), `: ${what}`);
    if (decision.reason) line.append(` (${decision.reason})`);
    if (decision.after) {
      for (const [name, before, after] of [
        ["question", content.question, decision.after.question],
        ...content.labels.map((label, i) => [`option ${label}`, content.options[i], decision.after.options[i]]),
        ["answer", content.answer ?? "none", decision.after.answer ?? "none"],
      ]) {
        const difference = shownDifference(before, after);
        if (difference) line.append(`; ${name}: `, difference);
      }
    }
    line.append(" ", button("Take this", TAKE[index] ?? "", () => take(index)));
    return line;
  });
  byId("others").replaceChildren(make("p", "", "The reviewers differ:"), ...lines);
}

export function showFacts(item) {
  const rows = [["id", item.id], ["category", item.category], ...Object.entries(item.facts)];
  byId("facts").replaceChildren(...rows.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
}

/** Fills the form that edits the texts, and returns the function that reads it. */
export function fillEditor(draft, changed, save, cancel) {
  const form = byId("editor");
  const field = (name, text, kind) => {
    const input = make(kind);
    input.id = `edit-${name}`;
    input.value = text;
    input.addEventListener("input", changed);
    const label = make("label", "", name === "question" ? "Question" : `Option ${name}`);
    label.htmlFor = input.id;
    return [label, input];
  };
  const question = field("question", draft.question, "textarea");
  const options = draft.options.map((text, index) => field(draft.labels[index], text, "input"));
  const saved = button("Save", "Ctrl+Enter", save);
  form.replaceChildren(...question, ...options.flat(), make("p", "", saved, " ", button("Cancel", "Esc", cancel)));
  form.onsubmit = (event) => {
    event.preventDefault();
    save();
  };
  return () => ({
    ...draft,
    question: question[1].value,
    options: options.map(([, input]) => input.value),
  });
}

const minutes = (seconds) => {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds / 60);
  return whole < 90 ? `${whole} min` : `${(seconds / 3600).toFixed(1)} h`;
};

export function showProgress(progress) {
  const { total, counts, pace, seconds_left: left } = progress;
  const pending = counts.pending ?? 0;
  byId("bar").max = Math.max(1, total);
  byId("bar").value = total - pending;
  const parts = Object.entries(counts).filter(([name]) => name !== "pending");
  byId("counts").textContent =
    `${total - pending} of ${total} decided` + parts.map(([name, count]) => ` · ${count} ${name}`).join("");
  byId("pace").textContent = pace === null ? "" : `${pace.toFixed(pace < 10 ? 1 : 0)} s each · ${minutes(left)} left`;
}

/** A field for a reason, and its label; Enter passes the text on. */
export function reasonField(text, entered) {
  const input = make("input");
  input.id = "reason";
  input.maxLength = 2000;
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    entered(input.value);
  });
  const label = make("label", "", text);
  label.htmlFor = "reason";
  return [label, input];
}

/** The list of keys in the help: rows of a key and what it does. */
export function showKeys(rows) {
  const named = { ArrowLeft: "←", ArrowRight: "→" };
  byId("keys").replaceChildren(
    ...rows.map(([key, what]) => make("tr", "", make("td", "", make("kbd", "", named[key] ?? key)), make("td", "", what))),
  );
}
