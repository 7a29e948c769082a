// The images of a question, with its objects outlined. Zoom keeps the images' proportions.

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#e6194b", "#0a84ff", "#f5a300", "#0f9d58", "#b620e0", "#00a3a3", "#c2185b", "#7a5c00"];
const STEPS = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8];

const byId = (id) => document.getElementById(id);
let outlined = true;
let zoom = 1;

function element(name, attributes, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

/** Shows the images of an item; `place` is its number in the addresses of the images. */
export function showImages(item, place) {
  const stages = item.images.map((image, number) => stage(item, image, place, number));
  byId("stages").replaceChildren(...(stages.length ? stages : [note("This question has no image.")]));
  byId("legend").replaceChildren(...item.objects.map((object, number) => entry(object, number)));
  byId("tools").hidden = stages.length === 0;
  byId("outlines").hidden = item.objects.length === 0;
  setZoom(1);
}

function stage(item, image, place, number) {
  const holder = document.createElement("div");
  holder.className = "stage";
  const inner = document.createElement("div");
  inner.className = "inner";
  const shown = document.createElement("img");
  shown.alt = `Image ${number + 1} of question ${item.id}`;
  shown.width = image.width;
  shown.height = image.height;
  shown.addEventListener("error", () => inner.replaceChildren(note("The image is not here or cannot be shown.")));
  shown.src = `images/${place}/${number}`;
  inner.append(shown);
  if (number === 0 && item.objects.length) inner.append(overlay(item.objects, image));
  inner.dataset.ratio = image.width / image.height;
  [inner.dataset.x, inner.dataset.y] = middle(number === 0 ? item.objects : [], image);
  for (const event of ["wheel", "pointerdown", "keydown"]) {
    holder.addEventListener(event, () => (holder.dataset.scrolled = "yes"), { passive: true });
  }
  holder.tabIndex = 0; // a zoomed image is scrolled by keyboard
  holder.setAttribute("role", "group");
  holder.setAttribute("aria-label", `Image ${number + 1}`);
  holder.append(inner);
  return holder;
}

/** The middle of the objects, or of the image, as shares of its width and height. */
function middle(objects, image) {
  if (objects.length === 0) return [0.5, 0.5];
  const ends = (start, size) => {
    const first = Math.min(...objects.map((object) => object.box[start]));
    return (first + Math.max(...objects.map((object) => object.box[start] + object.box[size]))) / 2;
  };
  return [ends(0, 2) / image.width, ends(1, 3) / image.height];
}

function overlay(objects, image) {
  const drawing = element("svg", { viewBox: `0 0 ${image.width} ${image.height}`, "aria-hidden": "true" });
  drawing.classList.add("outlines");
  const size = Math.max(image.width, image.height) / 32;
  objects.forEach((object, number) => {
    const group = element("g", { "data-object": number });
    const [left, top, width, height] = object.box;
    const shapes = object.outline.length
      ? object.outline.map((corners) => ["polygon", { points: corners.map((corner) => corner.join(",")).join(" ") }])
      : [["rect", { x: left, y: top, width, height }]];
    for (const colour of ["#ffffff", COLOURS[number % COLOURS.length]]) {
      const thickness = colour === "#ffffff" ? 5 : 2.5;
      for (const [name, attributes] of shapes) {
        const line = { fill: "none", stroke: colour, "stroke-width": thickness, "vector-effect": "non-scaling-stroke" };
        group.append(element(name, { ...attributes, ...line }));
      }
    }
    const at = { x: left + size / 4, y: Math.max(top + size, size) };
    group.append(element("text", { ...at, "font-size": size, fill: COLOURS[number % COLOURS.length] }, number + 1));
    drawing.append(group);
  });
  return drawing;
}

function entry(object, number) {
  const line = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  const mark = document.createElement("span");
  mark.className = "mark";
  mark.style.background = COLOURS[number % COLOURS.length];
  mark.textContent = number + 1;
  const name = document.createElement("span");
  name.textContent = object.name;
  button.append(mark, name);
  const highlight = (on) =>
    document.querySelectorAll(".outlines g").forEach((group) => {
      group.classList.toggle("faded", on && group.dataset.object !== String(number));
    });
  for (const [event, on] of [["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]) {
    button.addEventListener(event, () => highlight(on));
  }
  line.append(button);
  return line;
}

function note(text) {
  const made = document.createElement("p");
  made.className = "note";
  made.textContent = text;
  return made;
}

/** Shows or hides the outlines. */
export function toggleOutlines() {
  outlined = !outlined;
  byId("outlines").setAttribute("aria-pressed", String(outlined));
  byId("stages").classList.toggle("plain", !outlined);
}

/** Zooms by a step: 1, -1, or 0 for an image that fits. */
export function zoomBy(step) {
  const place = STEPS.reduce((best, value, i) => (Math.abs(value - zoom) < Math.abs(STEPS[best] - zoom) ? i : best), 0);
  setZoom(step === 0 ? 1 : STEPS[Math.min(STEPS.length - 1, Math.max(0, place + step))]);
}

/** What stays in the middle of a zoomed image: its objects, or what the reviewer scrolled to. */
function focus(holder, inner) {
  if (!holder.dataset.scrolled) return [Number(inner.dataset.x), Number(inner.dataset.y)];
  return [
    (holder.scrollLeft + holder.clientWidth / 2) / inner.offsetWidth,
    (holder.scrollTop + holder.clientHeight / 2) / inner.offsetHeight,
  ];
}

function setZoom(value) {
  zoom = value;
  byId("zoom").value = `${Math.round(zoom * 100)}%`;
  for (const inner of document.querySelectorAll(".inner")) {
    const holder = inner.parentElement;
    const height = parseFloat(getComputedStyle(holder).maxHeight) - 2;
    const fitting = Math.min(holder.clientWidth, height * Number(inner.dataset.ratio));
    const [x, y] = focus(holder, inner);
    inner.style.width = `${fitting * zoom}px`;
    holder.scrollLeft = x * inner.offsetWidth - holder.clientWidth / 2;
    holder.scrollTop = (y * inner.offsetWidth) / Number(inner.dataset.ratio) - holder.clientHeight / 2;
  }
}

addEventListener("resize", () => setZoom(zoom));
