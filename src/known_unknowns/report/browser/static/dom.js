// Elements and text. Text of questions, replies and names becomes text nodes only, never markup.

const find = (id) => document.getElementById(id);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const number = (value) => value.toLocaleString("en");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

/** Return an element with attributes and children (elements or text). */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Characters that are invisible or change the order of other characters.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const codeOf = (character) => "U+" + character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");

/** Return text with the code of each hidden character in its place, for names and attributes. */
const plain = (text) => String(text).replace(HIDDEN, (character) => `[${codeOf(character)}]`);

/** Return nodes of a text, with an element in the place of each hidden character. */
function visible(text) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) nodes.push(text.slice(end, match.index));
    nodes.push(h("span", { class: "hidden-character" }, codeOf(match[0])));
    end = match.index + 1;
  }
  nodes.push(text.slice(end));
  return nodes;
}

/** Return nodes of a text in which each passage [start, end, name] is marked with its names. */
function highlighted(text, passages) {
  const places = [...new Set([0, text.length, ...passages.flatMap(([start, end]) => [start, end])])].sort((a, b) => a - b);
  const nodes = [];
  for (let i = 0; i + 1 < places.length; i++) {
    const [start, end] = [places[i], places[i + 1]];
    const names = passages.filter((p) => p[0] <= start && end <= p[1]).map((p) => p[2]);
    const part = visible(text.slice(start, end));
    nodes.push(names.length ? h("mark", { title: `Passage of: ${names.join(", ")}` }, part) : part);
  }
  return nodes.flat();
}

const text = (value) => h("pre", { class: "text", dir: "auto" }, visible(value));
