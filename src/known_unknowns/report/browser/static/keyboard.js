// Keys. They do nothing while a field has the focus, except Escape.

const help = find("help");

/** Open the next or the previous row of the list, as a new entry of the history unless a key is held down. */
function step(by, push = true) {
  if (!shown.rows.length) return;
  const from = current < 0 ? nearest(by) : current + by;
  const place = Math.min(shown.rows.length - 1, Math.max(0, from));
  openRow(rowAt(place).values, push, document.activeElement === find("question") || document.body.classList.contains("reading"));
}

/** The first row after, or the last before, an open question that the filters hide. */
function nearest(by) {
  const next = state.question ? shown.rows.firstOf(shown.index.place.get(state.question) + 1) : 0;
  return by > 0 ? next : next - 1;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const field = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape") {
    if (field) field.blur();
    else if (state.question && document.body.classList.contains("reading")) closeQuestion();
    return;
  }
  if (field) return;
  const action = {
    j: () => step(1, !event.repeat), k: () => step(-1, !event.repeat), "?": () => help.showModal(),
    "/": () => { revealFilters(); find("search").focus(); find("search").select(); },
  }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

find("help-button").addEventListener("click", () => help.showModal());
